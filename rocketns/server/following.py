"""Files that are read again when they change: TLS files and lists of tokens by their content (FileWatchService); the
policy and the views, with the files that they name, by their stamps.

A policy at its limits takes seconds to read: a thread of asyncio's reads it, and control follows it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from rocketns._fast.system.process import keep_secrets_out_of_core_dumps
from rocketns.access.classes import RIGHTS, Mode
from rocketns.access.policy import Policy
from rocketns.access.policy_file import FILE_BYTES_MAX as POLICY_BYTES_MAX
from rocketns.access.policy_file import read_policy
from rocketns.access.policy_values import PolicyError, ReadFile
from rocketns.addresses import read_server
from rocketns.errors import StartupError
from rocketns.files import read_text
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import BrokerLiveInfo, RouteTables
from rocketns.server.listening import Listening, bind
from rocketns.server.publishing.publisher import Prepared
from rocketns.views.views import Views
from rocketns.views.views_file import FILE_BYTES_MAX as VIEWS_BYTES_MAX
from rocketns.views.views_file import read_views

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


@dataclass
class FileReading(Generic[Value]):
    """What one reading of all files found. ``stamps``: of each before it was read."""

    stamps: Stamps = field(default_factory=dict)
    value: Value | None = None
    error: PolicyError | None = None


def in_a_thread(read: Callable[[], FileReading[Any]], apply: Callable[[FileReading[Any]], None]) -> None:
    """Read in a thread, and take it on the running loop's."""

    def done(future: asyncio.Future[FileReading[Any]]) -> None:
        if not future.cancelled():
            apply(future.result())

    asyncio.get_running_loop().run_in_executor(None, read).add_done_callback(done)


class FollowedFile(Generic[Value]):
    """The file of a property, of which `use` gets each new value. Control only. ``path`` is "" if there is none.

    ``content`` names it in log lines, ``bytes_max`` bounds each file. When it changed it is read in a thread.
    """

    content: str
    property_name: str
    bytes_max: int

    def __init__(self, path: str) -> None:
        self._path = path
        self._stamps: Stamps = {}
        self._seen: Stamps = {}
        self._is_reading = self._is_asked = False
        self.failures = 0

    def parse(self, path: str, text: str, named: ReadFile) -> Value:
        """Any thread. ``named`` reads a file that this one names. PolicyError."""
        raise NotImplementedError

    def use(self, value: Value) -> None:
        """The file has changed, or was read first."""
        raise NotImplementedError

    def read_first(self) -> None:
        """StartupError if it cannot be used."""
        reading = self._read()
        if reading.error is not None:
            message = f"{self.content} of rocketns.{self.property_name} cannot be used: {reading.error}"
            raise StartupError(message) from reading.error
        self._apply(reading)

    def check(self) -> None:
        """Read it again if a file has changed or `reread` asked for it, and no file has changed since the last check:
        it may still be being written. What cannot be used changes nothing.
        """
        if self._is_reading:
            return
        stamps = {path: _stamp(path) for path in self._stamps}
        if stamps == self._seen and (self._is_asked or stamps != self._stamps):
            self._is_reading, self._is_asked = True, False
            in_a_thread(self._read, self._apply)
        self._seen = stamps

    def reread(self) -> None:
        """The next `check` that finds the files as they were reads them again."""
        self._is_asked = True

    def _read(self) -> FileReading[Value]:
        """Any thread."""
        reading, folder = FileReading[Value](), Path(self._path).parent

        def text_of(path: str) -> str:
            reading.stamps[path] = _stamp(path)
            try:
                text = read_text(path, self.bytes_max)
            except ValueError as error:
                raise PolicyError(path, 0, str(error)) from None
            if not text.strip():
                raise PolicyError(path, 0, "it is empty")  # as long as it is being written
            return text

        try:
            reading.value = self.parse(self._path, text_of(self._path), lambda path: text_of(str(folder / path)))
        except PolicyError as error:
            reading.error = error
        except Exception as error:  # an unforeseen one must not end the watching
            log.exception("%s cannot be read", self._path)
            reading.error = PolicyError(self._path, 0, f"it cannot be read: {type(error).__name__}")
        return reading

    def _apply(self, reading: FileReading[Value]) -> None:
        self._is_reading, self._stamps = False, reading.stamps
        if reading.error is not None:
            self.failures += 1
            log.error("%s stays as it was: %s", self.content, reading.error)
        if reading.value is not None:
            self.use(reading.value)


def _stamp(path: str) -> Stamp | None:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # a NUL is in no path
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


access_log = logging.getLogger("rocketns.access")

OPEN_TO_ALL = (
    "access control is off: whoever reaches port %d may register brokers, delete topics and change the configuration, "
    "as with the Java name server. rocketns.accessFile closes it, see docs/security.md"
)


class AccessFile(FollowedFile[Policy]):
    """``path`` is "" without access control. ``follow`` gets each new policy. Control only."""

    content, property_name, bytes_max = "the policy", "accessFile", POLICY_BYTES_MAX

    def __init__(self, path: str, follow: Callable[[Policy], None]) -> None:
        super().__init__(path)
        self._follow = follow

    def start(self, port: int) -> None:
        """Read the policy. StartupError if it cannot be used."""
        if not self._path:
            access_log.warning(OPEN_TO_ALL, port)
            return
        try:
            keep_secrets_out_of_core_dumps()
        except OSError as error:
            access_log.warning("core dumps of this process may hold secrets: %s", error)
        self.read_first()

    def parse(self, path: str, text: str, named: ReadFile) -> Policy:
        policy = read_policy(path, text, named)
        _ = policy.index  # made here, where nobody waits for it
        return policy

    def use(self, policy: Policy) -> None:
        self._follow(policy)
        modes = ", ".join(f"{access} {policy.mode_of(access)}" for access in RIGHTS)
        access_log.info("access control: %d principals, %d access keys; %s; takeover %s",
                        len(policy.principals), len(policy.secrets), modes, policy.takeover)  # fmt: skip
        for sentence in policy.warnings():
            access_log.warning(sentence)
        if policy.is_off:
            also = "" if policy.takeover is Mode.ENFORCE else ", and nothing is refused"
            access_log.warning("access control: the modes of all classes are off%s", also)


views_log = logging.getLogger("rocketns.views")

BEHIND_NAMED_MAX = 16  # brokers in a log line


class ViewsFile(FollowedFile[tuple[Views, Prepared]]):
    """``path`` is "" without views. ``follow`` puts all views in force, with what ``prepare`` made of them.
    Control only.

    ``listening`` are the sockets of the views that the start found; later ones need a restart.
    """

    content, property_name, bytes_max = "the list of views", "viewsFile", VIEWS_BYTES_MAX

    def __init__(
        self, path: str, prepare: Callable[[Views], Prepared], follow: Callable[[Views, Prepared], None],
        tables: RouteTables, *, trusts_announced: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(path)
        self._prepare = prepare
        self._follow = follow
        self._tables = tables
        self._trusts_announced = trusts_announced
        self.views = Views()
        self.listening: list[Listening] = []
        self._listens: tuple[str, ...] | None = None  # None: the file was not read yet

    def start(self, *, ipv4_only: bool) -> None:
        """Read the file, and bind the addresses of its views. StartupError if one of them cannot be used."""
        if not self._path:
            return
        self.read_first()
        for listen in self._listens or ():
            host, port = read_server(listen) or ("", 0)
            self.listening.append(bind(host, port, ipv4_only=ipv4_only))

    def parse(self, path: str, text: str, _: ReadFile) -> tuple[Views, Prepared]:
        """The first file says where to listen."""
        views = read_views(path, text)
        if self._listens is None:
            self._listens = tuple(view.listen for view in views if view.listen is not None)
        made = Views(views, self._listens, trusts_announced=self._trusts_announced)
        return made, self._prepare(made)

    def use(self, read: tuple[Views, Prepared]) -> None:
        views, prepared = read
        for sentence in views.warnings():
            views_log.warning("views: %s", sentence)
        self._follow(views, prepared)
        self.views = views
        views_log.info(
            "views: %s", ", ".join(f"{view.name} with {len(view.mapping)} rules" for view in views) or "none"
        )
        self._warn((key.addr, live) for key, live in self._tables.broker_live_table.items())

    def watch(self, events: list[e.Event], _now: object) -> None:
        """A broker that registers through a view is named, once."""
        new = (event for event in events if isinstance(event, e.BrokerRegistered) and event.gap_ms is None)
        self._warn((event.addr, self._tables.live(event.cluster, event.addr)) for event in new)

    def _warn(self, brokers: Iterable[tuple[str, BrokerLiveInfo | None]]) -> None:
        """Name those of these brokers that registered through a view."""
        behind = self.views.behind((addr, None if live is None else live.channel) for addr, live in brokers)
        if behind:
            names = Counter(behind.values())
            some = ", ".join(f"{addr} ({name})" for addr, name in [*behind.items()][:BEHIND_NAMED_MAX])
            views_log.warning(
                "views: %d brokers register through a view (%s): %s. They get announced addresses all the same, but "
                "not before they have registered: take their hosts out of the networks of views",
                len(behind), ", ".join(names), some,
            )  # fmt: skip
