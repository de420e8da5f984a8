"""Leaves secrets out of a pair: what a signature is made of, and the values of passwords.

A request without its signature is refused where rocketns or a proxy checks signatures; Java's name server checks none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocketns.config.properties import is_secret
from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import RemotingCommand, decode
from rocketns.shadow.frames import joined, split, without_fields
from rocketns.shadow.pairs import Pair
from rocketns.shadow.tree import BYTES, UnreadableError, parse, text_of, write

# AccessKey, Signature, SecurityToken and OnsChannel, in any case.
SECRET_FIELDS = frozenset({"accesskey", "signature", "securitytoken", "onschannel"})
_PROPERTIES = frozenset({RequestCode.UPDATE_NAMESRV_CONFIG, RequestCode.GET_NAMESRV_CONFIG})
_KV_ITEM = frozenset({RequestCode.PUT_KV_CONFIG, RequestCode.GET_KV_CONFIG})
# A line, and those that a backslash at its end joins to it. Possessive: a long line leaves nothing to go back to.
_LOGICAL_LINE = re.compile(rb"(?>[^\\\r\n]+|\\(?:\r\n|.))*+\\?(?:\r\n|[\r\n]|\Z)", re.DOTALL)
_ESCAPED = re.compile(rb"\\u([0-9a-fA-F]{4})")


def decoded(frame: bytes) -> RemotingCommand:
    """A recorded request or answer. UnreadableError where it is none."""
    try:
        return decode(frame)
    except MalformedFrame as error:
        raise UnreadableError(str(error)) from error


def without_secrets(pair: Pair) -> Pair:
    """The pair without secrets; frames without any keep their bytes. UnreadableError if nobody can say."""
    command = decoded(pair.request)
    request = _cleaned(command, pair.request)
    return pair._replace(
        request=request, upstream=clean_answer(command, pair.upstream), own=clean_answer(command, pair.own)
    )


def clean_answer(request: RemotingCommand, answer: bytes | None) -> bytes | None:
    """An answer to this request without secrets. UnreadableError."""
    return None if answer is None else _cleaned(request, answer)


def _cleaned(request: RemotingCommand, frame: bytes) -> bytes:
    of_password = request.code in _KV_ITEM and is_secret(request.ext("key") or "")

    def is_left_out(name: str) -> bool:
        return name.lower() in SECRET_FIELDS or (of_password and name == "value")

    parts = split(frame)
    body = _clean_body(parts.body, request.code)
    cleaned = frame if body == parts.body else joined(parts._replace(body=body))
    if any(map(is_left_out, decoded(frame).ext_fields or {})):
        cleaned = joined(without_fields(split(cleaned), is_left_out))
        if any(map(is_left_out, decoded(cleaned).ext_fields or {})):
            raise UnreadableError("a secret that could not be left out")
    return cleaned


def _clean_body(body: bytes, code: int) -> bytes:
    if code in _PROPERTIES and (b"password" in body.lower() or b"\\" in body):
        return b"".join(line for line in _lines(body) if not is_secret(_unescaped(line)))
    if code == RequestCode.GET_KVLIST_BY_NAMESPACE and b"password" in body.lower():
        return _clean_table(body)
    return body


def _lines(body: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(body) and (found := _LOGICAL_LINE.match(body, at)) and found.end() > at:
        yield found[0]
        at = found.end()


def _unescaped(line: bytes) -> str:
    """The line as properties files have it, where any character may be escaped, also those of a name."""
    shown = _ESCAPED.sub(lambda match: bytes([int(match[1], 16) & 0xFF]), line).decode("latin-1")
    return shown.replace("\\", "")


def _clean_table(body: bytes) -> bytes:
    """Items of order configuration and others, without those whose key says that they are passwords."""
    root = parse(body.decode(BYTES))
    if not isinstance(root, dict):
        return body
    for name, items in root.items():
        if isinstance(items, dict):
            root[name] = {key: value for key, value in items.items() if not is_secret(text_of(key))}
    return write(root).encode(BYTES)
