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
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.frames import changed_header, joined, split
from rocketns.shadow.recording.tree import Members, UnreadableError, parse, text_of, write

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
    of_password = command.code in _KV_ITEM and is_secret(command.ext("key") or "")
    return pair._replace(
        request=_cleaned(pair.request, command.code, of_password),
        upstream=clean_answer(command, pair.upstream),
        own=clean_answer(command, pair.own),
    )


def clean_answer(request: RemotingCommand, answer: bytes | None) -> bytes | None:
    """An answer to this request without secrets. UnreadableError."""
    if answer is None:
        return None
    of_password = request.code in _KV_ITEM and is_secret(request.ext("key") or "")
    return _cleaned(answer, request.code, of_password)


def _cleaned(frame: bytes, code: int, of_password: bool) -> bytes:
    def field(name: str, text: str) -> str | None:
        is_left_out = name.lower() in SECRET_FIELDS or (of_password and name == "value")
        return None if is_left_out else text

    found = decoded(frame).ext_fields or {}
    parts = split(frame)
    if any(field(name, "") is None for name in found):
        parts = parts._replace(header=changed_header(parts, field, lambda text: text))
    changed = parts._replace(body=_clean_body(parts.body, code))
    cleaned = frame if changed == split(frame) else joined(changed)
    if any(field(name, "") is None for name in decoded(cleaned).ext_fields or {}):
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
    root = parse(body)
    if not isinstance(root, Members):
        return body
    return write(Members((key, _without_passwords(value) if isinstance(value, Members) else value)
                         for key, value in root))  # fmt: skip


def _without_passwords(items: Members) -> Members:
    return Members((key, value) for key, value in items if not is_secret(text_of(key)))
