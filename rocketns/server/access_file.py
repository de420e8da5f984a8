"""The policy's file, and those that it names: read at the start, and again when one of them changes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from rocketns.access.classes import RIGHTS, Mode
from rocketns.access.policy import Policy
from rocketns.access.reading.errors import PolicyError
from rocketns.access.reading.policy_file import read_policy
from rocketns.errors import StartupError

log = logging.getLogger("rocketns.access")

WATCH_INTERVAL_MS = 1_000
FILE_BYTES_MAX = 4 * 1024 * 1024
OPEN_TO_ALL = (
    "access control is off: whoever reaches port %d may register brokers, delete topics and change the configuration, "
    "as with the Java name server. rocketns.accessFile closes it, see docs/security.md"
)

Stamp = tuple[int, int, int]  # modification time in ns, size in bytes, inode


class AccessFile:
    """``path`` is "" without access control. ``follow`` gets each new policy. Control only."""

    def __init__(self, path: str, follow: Callable[[Policy], None]) -> None:
        self._path = path
        self._follow = follow
        self._stamps: dict[str, Stamp | None] = {}
        self.failures = 0

    def start(self, port: int) -> None:
        """Read the policy. StartupError if it cannot be used."""
        if not self._path:
            log.warning(OPEN_TO_ALL, port)
            return
        try:
            self._take(self._read())
        except PolicyError as error:
            raise StartupError(f"the policy of rocketns.accessFile cannot be used: {error}") from error

    def check(self) -> None:
        """Read the policy again if a file has changed."""
        if self._path and any(_stamp(path) != stamp for path, stamp in self._stamps.items()):
            self.reread()

    def reread(self) -> None:
        """Read the policy again. One that cannot be used changes nothing."""
        if not self._path:
            return
        try:
            self._take(self._read())
        except PolicyError as error:
            self.failures += 1
            log.error("the policy stays as it was: %s", error)

    def _read(self) -> Policy:
        self._stamps = {self._path: _stamp(self._path)}
        return read_policy(self._path, _text(self._path), self._read_named)

    def _read_named(self, path: str) -> str:
        """A file that the policy names, relative to the policy's folder."""
        full = str(Path(self._path).parent / path)
        self._stamps[full] = _stamp(full)
        return _text(full)

    def _take(self, policy: Policy) -> None:
        self._follow(policy)
        modes = ", ".join(f"{access} {policy.mode_of(access).word}" for access in RIGHTS)
        log.info("access control: %d principals, %d access keys; %s; takeover %s",
                 len(policy.principals), len(policy.secrets), modes, policy.takeover.word)  # fmt: skip
        for sentence in policy.warnings():
            log.warning(sentence)
        if policy.is_off:
            also = "" if policy.takeover is Mode.ENFORCE else ", and nothing is refused"
            log.warning("access control: the modes of all classes are off%s", also)


def _stamp(path: str) -> Stamp | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _text(path: str) -> str:
    """PolicyError for a file that cannot be read. What cannot be decoded is not shown: it may be a secret."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise PolicyError(path, 0, f"it cannot be read: {error.strerror}") from error
    if len(content) > FILE_BYTES_MAX:
        raise PolicyError(path, 0, f"it has more than {FILE_BYTES_MAX} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise PolicyError(path, 0, "it is no UTF-8") from None
