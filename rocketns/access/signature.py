"""RocketMQ's signature of a request: AclUtils.combineRequestContent and AclSigner of RocketMQ 5.5.0.

It covers the values of the ext fields, in the order of their names, and the body. It covers neither the code nor a
time: who sees a signed request can send it again, as another code too. docs/security.md says what follows from that.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Iterable, Mapping
from enum import Enum

from rocketns.protocol.codes import ZONE_MODE, ZONE_NAME
from rocketns.protocol.command import RemotingCommand

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"
SIGNATURE = "Signature"
# 5.x clients add them after they signed, and 5.x brokers before.
ZONE_FIELDS = frozenset({ZONE_NAME, ZONE_MODE})


class Secret:
    """The HMAC-SHA1 of an access key. Neither its text nor its ``repr`` has the secret."""

    __slots__ = ("_made",)

    def __init__(self, text: str) -> None:
        self._made = hmac.new(text.encode("utf-8", "replace"), digestmod="sha1")

    def __repr__(self) -> str:
        return "Secret(…)"

    def signature(self, parts: Iterable[bytes | memoryview]) -> bytes:
        """The signature of the joined parts: base64, 28 characters."""
        signing = self._made.copy()
        for part in parts:
            signing.update(part)
        return b64encode(signing.digest())

    def is_signature(self, claimed: str, parts: Iterable[bytes | memoryview]) -> bool:
        """Whether it is their signature. The comparison takes the same time wherever they differ."""
        return hmac.compare_digest(self.signature(parts), claimed.encode("utf-8", "replace"))


class Signed(Enum):
    """What a request's signature is worth. An empty access key is none, as the C++ client sends it."""

    NOT = "unsigned"
    UNKNOWN_KEY = "unknown_key"
    WRONG = "wrong_signature"
    RIGHT = "signed"


def access_key_of(command: RemotingCommand) -> str | None:
    """The access key that the request names. None if it names none."""
    return command.ext(ACCESS_KEY) or None


def check(command: RemotingCommand, secrets: Mapping[str, Secret]) -> Signed:
    """Whether the request is signed by the key that it names.

    All ext fields but the signature are covered; or all but the two of zones, where one of them is present.
    """
    key = access_key_of(command)
    if key is None:
        return Signed.NOT
    secret = secrets.get(key)
    if secret is None:
        return Signed.UNKNOWN_KEY
    claimed, fields = command.ext(SIGNATURE) or "", command.ext_fields or {}
    body = () if command.data is None else (command.data,)
    for without in (frozenset[str](), ZONE_FIELDS)[: 1 if ZONE_FIELDS.isdisjoint(fields) else 2]:
        if secret.is_signature(claimed, (signed_content(fields, without), *body)):
            return Signed.RIGHT
    return Signed.WRONG


def signed_content(fields: Mapping[str, str | None], without: frozenset[str] = frozenset()) -> bytes:
    """The part of what is signed that ext fields are. A null counts as empty."""
    names = sorted((name for name in fields if name != SIGNATURE and name not in without), key=_java_order)
    return "".join(fields[name] or "" for name in names).encode("utf-8", "replace")


def _java_order(name: str) -> bytes:
    """String.compareTo compares the units of UTF-16."""
    return name.encode("utf-16-be", "surrogatepass")


class KeySigner:
    """A `rocketns.client.name_server.Signer` with one access key. Its ``repr`` does not have the secret."""

    __slots__ = ("_secret", "access_key", "security_token")

    def __init__(self, access_key: str, secret: Secret, security_token: str = "") -> None:
        self.access_key = access_key
        self.security_token = security_token
        self._secret = secret

    def signed(self, fields: Mapping[str, str | None]) -> dict[str, str | None]:
        """The fields of a request without a body, with AccessKey, SecurityToken if there is one, and Signature."""
        whole = dict(fields) | {ACCESS_KEY: self.access_key}
        if self.security_token:
            whole[SECURITY_TOKEN] = self.security_token
        whole[SIGNATURE] = self._secret.signature([signed_content(whole)]).decode()
        return whole
