"""The policy's file, and those that it names: read at the start, and again when one of them changes."""

from __future__ import annotations

import logging
from collections.abc import Callable

from rocketns._fast.system.process import keep_secrets_out_of_core_dumps
from rocketns.access.classes import RIGHTS, Mode
from rocketns.access.policy import Policy
from rocketns.access.policy_file import FILE_BYTES_MAX, read_policy
from rocketns.access.policy_values import ReadFile
from rocketns.server.following import FollowedFile, Parse, Run, at_once

log = logging.getLogger("rocketns.access")

OPEN_TO_ALL = (
    "access control is off: whoever reaches port %d may register brokers, delete topics and change the configuration, "
    "as with the Java name server. rocketns.accessFile closes it, see docs/security.md"
)


class AccessFile(FollowedFile[Policy]):
    """``path`` is "" without access control. ``follow`` gets each new policy. Control only."""

    def __init__(self, path: str, follow: Callable[[Policy], None], run: Run = at_once) -> None:
        super().__init__("the policy", "accessFile", path, Parse(_read, FILE_BYTES_MAX), self._use, run)
        self._follow_policy = follow

    def start(self, port: int) -> None:
        """Read the policy. StartupError if it cannot be used."""
        if not self._path:
            log.warning(OPEN_TO_ALL, port)
            return
        _keep_secrets()
        self.read_first()

    def _use(self, policy: Policy) -> None:
        self._follow_policy(policy)
        _tell(policy)


def _read(path: str, text: str, named: ReadFile) -> Policy:
    policy = read_policy(path, text, named)
    _ = policy.index  # made here, where nobody waits for it
    return policy


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
