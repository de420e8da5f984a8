"""A request in words, as an operator writes it: ``code=105 from=10.1.2.3 key=KEY topic=orders``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rocketns.access.classes import AccessRequest, access_request
from rocketns.access.decision import Evidence, evidence_of, with_signature
from rocketns.access.policy import Policy
from rocketns.access.signature import ACCESS_KEY, Signed
from rocketns.addresses import Address, literal, split
from rocketns.errors import RocketnsError
from rocketns.processor.requests import request_of
from rocketns.protocol.codes import V5_5_0, RequestCode
from rocketns.protocol.command import RemotingCommand

BODY_BYTES_MAX = 64 * 1024 * 1024
CODE_MAX = 2**31 - 1


@dataclass(slots=True)
class Question:
    """``key``: it signed the request rightly; None if the fields say who signed it, or nobody did."""

    code: int
    address: Address | None = None
    key: str | None = None
    certificates: list[str] = field(default_factory=list)
    fields: dict[str, str | None] = field(default_factory=dict)
    body: bytes | None = None

    @property
    def command(self) -> RemotingCommand:
        return RemotingCommand(self.code, V5_5_0, 0, 0, self.fields, self.body)

    def asked(self) -> AccessRequest:
        """What it asks for."""
        return access_request(self.command, request_of(self.code).access)

    def evidence(self, policy: Policy) -> Evidence:
        """What the policy makes of what is known of the sender."""
        of_peer = evidence_of(policy, self.address, self.certificates)
        if self.key is not None:
            signed = Signed.RIGHT if self.key in policy.secrets else Signed.UNKNOWN_KEY
            return replace(of_peer, key=self.key, signed=signed)
        return with_signature(of_peer, self.command, policy.secrets)


def question_of(words: Sequence[str]) -> Question:
    """RocketnsError says which word is wrong."""
    pairs = []
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise RocketnsError(f"{word}: NAME=VALUE expected")
        pairs.append((name, value))
    names = [name for name, _ in pairs]
    if "code" not in names:
        raise RocketnsError("code=… is missing, such as code=105 or code=GET_ROUTEINFO_BY_TOPIC")
    if twice := {name for name in names if names.count(name) > 1} - {"certificate"}:
        raise RocketnsError(f"twice: {', '.join(sorted(twice))}")
    given = dict(pairs)
    sender, body = given.pop("from", None), given.pop("body", None)
    question = Question(
        _code(given.pop("code")), None if sender is None else _address(sender), given.pop("key", "") or None,
        [value for name, value in pairs if name == "certificate"],
        {name: value for name, value in given.items() if name != "certificate"}, None if body is None else _body(body),
    )  # fmt: skip
    if question.key is not None and ACCESS_KEY in question.fields:
        raise RocketnsError(f"key=… stands for a right signature, so it cannot be beside {ACCESS_KEY}=…")
    return question


def _code(text: str) -> int:
    if text in RequestCode.__members__:
        return int(RequestCode[text])
    if not text.isdecimal() or int(text) > CODE_MAX:
        raise RocketnsError(f"code={text}: a number, or a name of Java's such as GET_ROUTEINFO_BY_TOPIC expected")
    return int(text)


def _address(text: str) -> Address:
    found = literal(text) or literal(split(text)[0])
    if found is None:
        raise RocketnsError(f"from={text}: an IP address expected")
    return found


def _body(text: str) -> bytes | None:
    if not text.startswith("@"):
        return text.encode() or None
    try:
        with Path(text[1:]).open("rb") as file:
            body = file.read(BODY_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise RocketnsError(f"body={text}: {error}") from error
    if len(body) > BODY_BYTES_MAX:
        raise RocketnsError(f"body={text}: it has more than {BODY_BYTES_MAX} bytes")
    return body or None
