"""Requests that are refused, as the journal of a server has them, and what a policy says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from rocketns.access.asked import asked_of
from rocketns.access.classes import RIGHTS, Mode
from rocketns.access.decision import Decision, Reason, decide
from rocketns.access.policy import Policy
from rocketns.access.reading.policy_file import read_policy
from rocketns.access.reading.secrets_file import TO_BE_FILLED_IN
from rocketns.access.shown import cut, shown_fields
from rocketns.access.signing.signature import Signed
from rocketns.access.standing import evidence_of
from rocketns.addresses import literal
from rocketns.journal.encoding import request_record
from rocketns.processor.requests import request_of
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.events import RequestRefused

FIRST_US = 1_763_596_800_000_000  # 2025-11-20T00:00:00Z


@dataclass(frozen=True)
class Sent:
    """A request of a host, signed by a key or not. A host of IPv6 is its network, as events have it."""

    host: str
    key: str | None
    code: int
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> RemotingCommand:
        return RemotingCommand(self.code, 513, 1, 0, dict(self.fields), None)

    def event(self, reason: str | None = None, count: int = 1) -> RequestRefused:
        why = Reason.NO_EVIDENCE if self.key is None else Reason.UNKNOWN_KEY
        return RequestRefused(
            self.code, request_of(self.code).access.value, reason or why, self.host, None, cut(self.key, 200),
            is_enforced=False, count=count, fields=shown_fields(dict(self.fields)),
        )  # fmt: skip


def sent(host: str, code: int, key: str | None = None, **fields: str) -> Sent:
    return Sent(host, key, code, tuple(fields.items()))


def lines(events: Iterable[RequestRefused], first_us: int = FIRST_US) -> bytes:
    """A journal's lines, a second between them."""
    return b"".join(
        b'{"boot":1,"seq":%d,"ts":%d,' % (number, first_us + number * 1_000_000) + request_record(event) + b"\n"
        for number, event in enumerate(events)
    )


def journal(folder: Path, content: bytes, name: str = "1-000001.jsonl") -> str:
    """A folder with one file of a journal."""
    day = folder / "v=1" / "dt=2025-11-20" / "ns=a"
    day.mkdir(parents=True, exist_ok=True)
    (day / name).write_bytes(content)
    return str(folder)


def filled_in(text: str) -> str:
    """With a secret for each key."""
    return text.replace(f'"{TO_BE_FILLED_IN}"', '"a secret of a key"')


def with_admin(text: str) -> str:
    """With the tables of admin requests, and their keys."""
    return "\n".join(line.removeprefix("# ") if is_table(line) else line for line in text.split("\n"))


def is_table(line: str) -> bool:
    """Whether a line of a comment is a line of a table."""
    return line.startswith(("# #", "# [", "#     ", "# ]", "# networks", "# keys", "# may", "# kv_", "# secret"))


def policy_of(text: str) -> Policy:
    """The policy of a suggestion, enforced."""
    policy = read_policy("suggested.toml", filled_in(text), lambda _path: "")
    return replace(policy, modes=dict.fromkeys(RIGHTS, Mode.ENFORCE))


def decision(policy: Policy, one: Sent) -> Decision:
    """What the policy says of the request; its signature is right if its key has a secret."""
    evidence = evidence_of(policy, literal(one.host.partition("/")[0]), ())
    if one.key is not None:
        signed = Signed.RIGHT if one.key in policy.secrets else Signed.UNKNOWN_KEY
        evidence = replace(evidence, key=one.key, signed=signed)
    return decide(policy, asked_of(one.command, request_of(one.code).access), evidence)
