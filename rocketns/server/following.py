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
from typing import Any, Generic, NamedTuple, TypeVar

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
from rocketns.routeinfo.tables import RouteTables
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


class Parse(NamedTuple):
    """``read`` makes a value of a path, its text and the files that it names. PolicyError. ``bytes_max``: of each."""

    read: Callable[[str, str, ReadFile], Any]
    bytes_max: int


@dataclass
class FileReading(Generic[Value]):
    """One reading of all files. ``stamps``: of each before it was read. Any thread."""

    path: str
    parse: Parse
    stamps: Stamps = field(default_factory=dict)
    value: Value | None = None
    error: PolicyError | None = None

    def read(self) -> FileReading[Value]:
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


Run = Callable[[Callable[[], FileReading[Any]], Callable[[FileReading[Any]], None]], None]


def at_once(read: Callable[[], FileReading[Any]], take: Callable[[FileReading[Any]], None]) -> None:
    """Read here and now."""
    take(read())


def in_a_thread(read: Callable[[], FileReading[Any]], take: Callable[[FileReading[Any]], None]) -> None:
    """Read in a thread, and take it on the running loop's."""

    def done(future: asyncio.Future[FileReading[Any]]) -> None:
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
        reading: FileReading[Value] = FileReading(self._path, self._parse).read()
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
            self._run(FileReading(self._path, self._parse).read, self._took)
        self._seen = stamps

    def reread(self) -> None:
        """The next `check` that finds the files as they were reads them again."""
        self._is_asked = True

    def _took(self, reading: FileReading[Value]) -> None:
        self._is_reading = False
        self._take(reading)

    def _take(self, reading: FileReading[Value]) -> None:
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


access_log = logging.getLogger("rocketns.access")

OPEN_TO_ALL = (
    "access control is off: whoever reaches port %d may register brokers, delete topics and change the configuration, "
    "as with the Java name server. rocketns.accessFile closes it, see docs/security.md"
)


class AccessFile(FollowedFile[Policy]):
    """``path`` is "" without access control. ``follow`` gets each new policy. Control only."""

    def __init__(self, path: str, follow: Callable[[Policy], None], run: Run = at_once) -> None:
        super().__init__("the policy", "accessFile", path, Parse(_read_policy, POLICY_BYTES_MAX), self._use, run)
        self._follow_policy = follow

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

    def _use(self, policy: Policy) -> None:
        self._follow_policy(policy)
        _log_policy(policy)


def _read_policy(path: str, text: str, named: ReadFile) -> Policy:
    policy = read_policy(path, text, named)
    _ = policy.index  # made here, where nobody waits for it
    return policy


def _log_policy(policy: Policy) -> None:
    modes = ", ".join(f"{access} {policy.mode_of(access).word}" for access in RIGHTS)
    access_log.info("access control: %d principals, %d access keys; %s; takeover %s",
             len(policy.principals), len(policy.secrets), modes, policy.takeover.word)  # fmt: skip
    for sentence in policy.warnings():
        access_log.warning(sentence)
    if policy.is_off:
        also = "" if policy.takeover is Mode.ENFORCE else ", and nothing is refused"
        access_log.warning("access control: the modes of all classes are off%s", also)


views_log = logging.getLogger("rocketns.views")

BEHIND_NAMED_MAX = 16  # brokers in a log line


class ReadViews(NamedTuple):
    """A file as it was read, ready to be put in force."""

    views: Views
    prepared: Prepared


class ViewsFile(FollowedFile[ReadViews]):
    """``path`` is "" without views. ``use`` puts all views in force, with what ``prepare`` made of them. Control only.

    ``listening`` are the sockets of the views that the start found; later ones need a restart.
    """

    def __init__(
        self, path: str, prepare: Callable[[Views], Prepared], use: Callable[[Views, Prepared], None],
        tables: RouteTables, run: Run = at_once, *, trusts_announced: bool = False,
    ) -> None:  # fmt: skip
        parse = Parse(self._read, VIEWS_BYTES_MAX)
        super().__init__("the list of views", "viewsFile", path, parse, self._follow_views, run)
        self._prepare = prepare
        self._use = use
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

    def _read(self, path: str, text: str, _: ReadFile) -> ReadViews:
        """Any thread. The first file says where to listen."""
        views = read_views(path, text)
        if self._listens is None:
            self._listens = tuple(view.listen for view in views if view.listen is not None)
        made = Views(views, self._listens, trusts_announced=self._trusts_announced)
        return ReadViews(made, self._prepare(made))

    def _follow_views(self, read: ReadViews) -> None:
        views, listens = read.views, self._listens or ()
        wanted = [view.listen for view in views if view.listen is not None]
        for listen in wanted:
            if listen not in listens:
                views_log.warning("views: nobody listens at %s yet: that needs a restart", listen)
        for listen in listens:
            if listen not in wanted:
                views_log.warning(
                    "views: who connects to %s is in no view any more; to close it needs a restart", listen
                )
        self._use(*read)
        self.views = views
        views_log.info(
            "views: %s", ", ".join(f"{view.name} with {len(view.mapping)} rules" for view in views) or "none"
        )
        self._warn(behind(self._tables, views))

    def watch(self, events: list[e.Event], _now: object) -> None:
        """A broker that registers through a view is named, once."""
        if self.views:
            new = [event for event in events if isinstance(event, e.BrokerRegistered) and event.gap_ms is None]
            self._warn({event.addr: name for event in new if (name := self._view_of(event)) is not None})

    def _view_of(self, event: e.BrokerRegistered) -> str | None:
        live = self._tables.live(event.cluster, event.addr)
        view = None if live is None or live.channel is None else self.views.through(live.channel)
        return None if view is None else view.name

    def _warn(self, brokers: dict[str, str]) -> None:
        if brokers:
            names = Counter(brokers.values())
            some = ", ".join(f"{addr} ({name})" for addr, name in [*brokers.items()][:BEHIND_NAMED_MAX])
            views_log.warning(
                "views: %d brokers register through a view (%s): %s. They get announced addresses all the same, but "
                "not before they have registered: take their hosts out of the networks of views",
                len(brokers), ", ".join(names), some,
            )  # fmt: skip


def behind(tables: RouteTables, views: Views) -> dict[str, str]:
    """The brokers that registered through a view: its name by their address. Control only."""
    if not views:
        return {}
    found = ((key.addr, live.channel) for key, live in tables.broker_live_table.items())
    return {addr: view.name for addr, channel in found if channel is not None
            and (view := views.through(channel)) is not None}  # fmt: skip
