"""The file of recorded pairs: JSON Lines, written once, for its owner alone and bounded. Nothing of it is trusted.

The first line is its head; each other line is a pair, with its frames as base64. It never has secrets: what a signature
is made of, and the values of passwords. A request without its signature is refused where rocketns or a proxy checks
signatures; Java's name server checks none.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path

import orjson

from rocketns.config.properties import is_secret
from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import RemotingCommand, decode
from rocketns.shadow.frames import joined, split, without_fields
from rocketns.shadow.pairs import PAIR_BYTES_MAX, Outcome, Pair
from rocketns.shadow.tree import BYTES, UnreadableError, parse, text_of, write
from rocketns.tools.decode.reading import FORMAT, recorded
from rocketns.tools.decode.showing import SECRET_FIELDS

# Of a line: a pair's frames as base64, and what is beside them.
LINE_BYTES_MAX = PAIR_BYTES_MAX // 3 * 4 + 4096
_MODE = 0o600
_PROPERTIES = frozenset({RequestCode.UPDATE_NAMESRV_CONFIG, RequestCode.GET_NAMESRV_CONFIG})
_KV_ITEM = frozenset({RequestCode.PUT_KV_CONFIG, RequestCode.GET_KV_CONFIG})
# A line, and those that a backslash at its end joins to it. Possessive: a long line leaves nothing to go back to.
_LOGICAL_LINE = re.compile(rb"(?>[^\\\r\n]+|\\(?:\r\n|.))*+\\?(?:\r\n|[\r\n]|\Z)", re.DOTALL)
_ESCAPED = re.compile(rb"\\u([0-9a-fA-F]{4})")


def write_recording(path: Path, pairs: Iterable[tuple[Pair, Outcome | None]], note: str = "") -> int:
    """Write these pairs without their secrets to a new file, and how their answers compared; None if nobody compared.

    How many those are: a pair that nobody can read is left out.

    FileExistsError if there is one: no recording is overwritten or followed through a link. OSError.
    """
    written = 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, _MODE), "wb") as file:
        file.write(orjson.dumps(FORMAT | ({"note": note} if note else {})) + b"\n")
        for pair, outcome in pairs:
            try:
                one = without_secrets(pair)
            except UnreadableError:
                continue
            written += 1
            file.write(orjson.dumps({
                "at_ms": one.at_ms, "connection": one.connection, "peer": one.peer,
                "request": _base64(one.request), "upstream": _base64(one.upstream), "own": _base64(one.own),
                "outcome": outcome,
            }) + b"\n")  # fmt: skip
    return written


def read_recording(path: Path) -> Iterator[Pair]:
    """Each pair. A last line that was cut is left out. FormError names the line that cannot be read. OSError."""
    with path.open("rb") as file:
        lines = iter(partial(file.readline, LINE_BYTES_MAX), b"")
        for one in recorded(takewhile(lambda line: line.endswith(b"\n") or len(line) == LINE_BYTES_MAX, lines)):
            yield Pair(one.connection, one.peer, one.at_ms, one.request, one.upstream, one.own, None, None)


def _base64(frame: bytes | None) -> str | None:
    return None if frame is None else base64.b64encode(frame).decode("ascii")


def decoded(frame: bytes) -> RemotingCommand:
    """A recorded request or answer. UnreadableError where it is none."""
    try:
        return decode(frame)
    except MalformedFrame as error:
        raise UnreadableError(str(error)) from error


def without_secrets(pair: Pair) -> Pair:
    """The pair without secrets; frames without any keep their bytes. UnreadableError if nobody can say."""
    command = decoded(pair.request)
    return pair._replace(request=clean(command, pair.request), upstream=pair.upstream and clean(command, pair.upstream),
                         own=pair.own and clean(command, pair.own))  # fmt: skip


def clean(request: RemotingCommand, frame: bytes) -> bytes:
    """This request, or an answer to it, without secrets. UnreadableError."""
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
