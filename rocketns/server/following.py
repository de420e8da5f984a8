"""Files that are read again when they change: TLS files and lists of tokens by their content (FileWatchService); the
policy and the views, with the files that they name, by their stamps.

A policy at its limits takes seconds to read: a thread of asyncio's reads it, and control follows it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from rocketns.access.policy_values import PolicyError, ReadFile
from rocketns.errors import StartupError
from rocketns.files import read_text

log = logging.getLogger("rocketns.files")

WATCH_INTERVAL_MS = 1_000

Stamp = tuple[int, int, int]  # modification time in ns, size in bytes, inode
Stamps = dict[str, Stamp | None]  # by path; None of a file that is not there
Value = TypeVar("Value")


class Followed:
    """Some files, by their paths, and digests of their content.

    A file that is deleted or cannot be read counts as unchanged, as in Java: somebody is about to replace it.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._digests = {path: _digest(path) for path in paths}

    def changed(self) -> list[str]:
        """The paths whose content is another one than at the last call, or than at the start."""
        found = {path: _digest(path) for path in self._digests}
        new = {path: digest for path, digest in found.items() if digest and digest != self._digests[path]}
        self._digests |= new
        return [*new]


def _digest(path: str) -> bytes:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return b""


class Parse(NamedTuple):
    """``read`` makes a value of a path, its text and the files that it names. PolicyError. ``bytes_max``: of each."""

    read: Callable[[str, str, ReadFile], Any]
    bytes_max: int


@dataclass
class Reading(Generic[Value]):
    """One reading of all files. ``stamps``: of each before it was read. Any thread."""

    path: str
    parse: Parse
    stamps: Stamps = field(default_factory=dict)
    value: Value | None = None
    error: PolicyError | None = None

    def read(self) -> Reading[Value]:
        """Sets ``value``, or ``error``."""
        try:
            self.value = self.parse.read(self.path, self._text(self.path), self._named)
        except PolicyError as error:
            self.error = error
        except Exception as error:  # an unforeseen one must not end the watching
            log.exception("%s cannot be read", self.path)
            self.error = PolicyError(self.path, 0, f"it cannot be read: {type(error).__name__}")
        return self

    def _named(self, path: str) -> str:
        """A file that this one names, relative to its folder."""
        return self._text(str(Path(self.path).parent / path))

    def _text(self, path: str) -> str:
        self.stamps[path] = _stamp(path)
        try:
            text = read_text(path, self.parse.bytes_max)
        except ValueError as error:
            raise PolicyError(path, 0, str(error)) from None
        if not text.strip():
            raise PolicyError(path, 0, "it is empty")  # as long as it is being written
        return text


Run = Callable[[Callable[[], Reading[Any]], Callable[[Reading[Any]], None]], None]


def at_once(read: Callable[[], Reading[Any]], take: Callable[[Reading[Any]], None]) -> None:
    """Read here and now."""
    take(read())


def in_a_thread(read: Callable[[], Reading[Any]], take: Callable[[Reading[Any]], None]) -> None:
    """Read in a thread, and take it on the running loop's."""

    def done(future: asyncio.Future[Reading[Any]]) -> None:
        if not future.cancelled():
            take(future.result())

    asyncio.get_running_loop().run_in_executor(None, read).add_done_callback(done)


class FollowedFile(Generic[Value]):
    """The file of a property, of which ``follow`` gets each new value. Control only.

    ``what`` names its content in log lines. ``run`` reads it when it changed: `in_a_thread`, or `at_once`.
    """

    def __init__(
        self, what: str, name: str, path: str, parse: Parse, follow: Callable[[Value], None], run: Run = at_once
    ) -> None:
        self._what, self._property, self._path, self._parse = what, name, path, parse
        self._follow = follow
        self._run = run
        self._stamps: Stamps = {}
        self._seen: Stamps = {}
        self._is_reading = self._is_asked = False
        self.failures = 0

    def read_first(self) -> None:
        """StartupError if it cannot be used."""
        reading: Reading[Value] = Reading(self._path, self._parse).read()
        if reading.error is not None:
            raise StartupError(f"{self._what} of rocketns.{self._property} cannot be used: {reading.error}") from (
                reading.error
            )
        self._take(reading)

    def check(self) -> None:
        """Read it again if a file has changed or `reread` asked for it, and no file has changed since the last check:
        it may still be being written. What cannot be used changes nothing.
        """
        if self._is_reading:
            return
        stamps = {path: _stamp(path) for path in self._stamps}
        if stamps == self._seen and (self._is_asked or stamps != self._stamps):
            self._is_reading, self._is_asked = True, False
            self._run(Reading(self._path, self._parse).read, self._took)
        self._seen = stamps

    def reread(self) -> None:
        """The next `check` that finds the files as they were reads them again."""
        self._is_asked = True

    def _took(self, reading: Reading[Value]) -> None:
        self._is_reading = False
        self._take(reading)

    def _take(self, reading: Reading[Value]) -> None:
        self._stamps = reading.stamps
        if reading.error is not None:
            self.failures += 1
            log.error("%s stays as it was: %s", self._what, reading.error)
        if reading.value is not None:
            self._follow(reading.value)


def _stamp(path: str) -> Stamp | None:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # a NUL is in no path
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
