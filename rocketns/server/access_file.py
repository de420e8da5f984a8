"""The policy's file, and those that it names: read at the start, and again when one of them changes.

A policy at its limits takes seconds to read: a thread of asyncio's reads it, and control follows it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rocketns._fast.system.hardening.core_dumps import keep_secrets_out_of_core_dumps
from rocketns.access.classes import RIGHTS, Mode
from rocketns.access.policy import Policy
from rocketns.access.policy_file import FILE_BYTES_MAX, read_policy
from rocketns.access.policy_values import PolicyError
from rocketns.errors import StartupError
from rocketns.files import read_text

log = logging.getLogger("rocketns.access")

WATCH_INTERVAL_MS = 1_000
OPEN_TO_ALL = (
    "access control is off: whoever reaches port %d may register brokers, delete topics and change the configuration, "
    "as with the Java name server. rocketns.accessFile closes it, see docs/security.md"
)

Stamp = tuple[int, int, int]  # modification time in ns, size in bytes, inode
Stamps = dict[str, Stamp | None]  # by path; None of a file that is not there


@dataclass
class Reading:
    """One reading of all files. ``stamps``: of each before it was read. Any thread."""

    path: str
    stamps: Stamps = field(default_factory=dict)
    policy: Policy | None = None
    error: PolicyError | None = None

    def read(self) -> Reading:
        """Sets ``policy``, or ``error``."""
        try:
            self.policy = read_policy(self.path, self._text(self.path), self._named)
            _ = self.policy.index  # made here, where nobody waits for it
        except PolicyError as error:
            self.error = error
        except Exception as error:  # an unforeseen one must not end the watching
            log.exception("the policy cannot be read")
            self.error = PolicyError(self.path, 0, f"it cannot be read: {type(error).__name__}")
        return self

    def _named(self, path: str) -> str:
        """A file that the policy names, relative to the policy's folder."""
        return self._text(str(Path(self.path).parent / path))

    def _text(self, path: str) -> str:
        self.stamps[path] = _stamp(path)
        return _text(path)


Run = Callable[[Callable[[], Reading], Callable[[Reading], None]], None]


def at_once(read: Callable[[], Reading], take: Callable[[Reading], None]) -> None:
    """Read here and now."""
    take(read())


def in_a_thread(read: Callable[[], Reading], take: Callable[[Reading], None]) -> None:
    """Read in a thread, and take it on the running loop's."""

    def done(future: asyncio.Future[Reading]) -> None:
        if not future.cancelled():
            take(future.result())

    asyncio.get_running_loop().run_in_executor(None, read).add_done_callback(done)


class AccessFile:
    """``path`` is "" without access control. ``follow`` gets each new policy. Control only.

    ``run`` reads a policy that changed: `in_a_thread`, or `at_once`.
    """

    def __init__(self, path: str, follow: Callable[[Policy], None], run: Run = at_once) -> None:
        self._path = path
        self._follow = follow
        self._run = run
        self._stamps: Stamps = {}
        self._seen: Stamps = {}
        self._is_reading = self._is_asked = False
        self.failures = 0

    def start(self, port: int) -> None:
        """Read the policy. StartupError if it cannot be used."""
        if not self._path:
            log.warning(OPEN_TO_ALL, port)
            return
        _keep_secrets()
        reading = Reading(self._path).read()
        if reading.error is not None:
            raise StartupError(f"the policy of rocketns.accessFile cannot be used: {reading.error}") from reading.error
        self._take(reading)

    def check(self) -> None:
        """Read the policy again if a file has changed or `reread` asked for it, and no file has changed since the last
        check: it may still be being written. A policy that cannot be used changes nothing.
        """
        if self._is_reading:
            return
        stamps = {path: _stamp(path) for path in self._stamps}
        if stamps == self._seen and (self._is_asked or stamps != self._stamps):
            self._is_reading, self._is_asked = True, False
            self._run(Reading(self._path).read, self._took)
        self._seen = stamps

    def reread(self) -> None:
        """The next `check` that finds the files as they were reads the policy again."""
        self._is_asked = True

    def _took(self, reading: Reading) -> None:
        self._is_reading = False
        self._take(reading)

    def _take(self, reading: Reading) -> None:
        self._stamps = reading.stamps
        if reading.error is not None:
            self.failures += 1
            log.error("the policy stays as it was: %s", reading.error)
        if reading.policy is not None:
            self._follow(reading.policy)
            _tell(reading.policy)


def _tell(policy: Policy) -> None:
    modes = ", ".join(f"{access} {policy.mode_of(access).word}" for access in RIGHTS)
    log.info("access control: %d principals, %d access keys; %s; takeover %s",
             len(policy.principals), len(policy.secrets), modes, policy.takeover.word)  # fmt: skip
    for sentence in policy.warnings():
        log.warning(sentence)
    if policy.is_off:
        also = "" if policy.takeover is Mode.ENFORCE else ", and nothing is refused"
        log.warning("access control: the modes of all classes are off%s", also)


def _keep_secrets() -> None:
    """The process has secrets in its memory from now on."""
    try:
        keep_secrets_out_of_core_dumps()
    except OSError as error:
        log.warning("core dumps of this process may hold secrets: %s", error)


def _stamp(path: str) -> Stamp | None:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # a NUL is in no path
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _text(path: str) -> str:
    try:
        text = read_text(path, FILE_BYTES_MAX)
    except ValueError as error:
        raise PolicyError(path, 0, str(error)) from None
    if not text.strip():
        raise PolicyError(path, 0, "it is empty")  # as long as it is being written
    return text
