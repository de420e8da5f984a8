"""JSON text as a tree that keeps each token as it was written, also what only fastjson takes: ``{0:"a"}``.

An object is a tuple of its members, so that two members of one name are both seen. Blanks between tokens are not kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rocketns.errors import RocketnsError

DEPTH_MAX = 64
"""Objects and arrays in each other. Bodies of name servers have six at most."""

TOKENS_MAX = 4_000_000
"""Strings, numbers and signs of one text. A list of a million topics has two million."""

# Latin-1 gives one character a byte, so whatever is not changed is written back byte for byte.
_BYTES = "latin-1"
# Possessive: a string of megabytes leaves nothing to go back to.
_TOKEN = re.compile(r'"(?>[^"\\]+|\\.)*+"|[{}\[\]:,]|[^{}\[\]:,"\s]++', re.DOTALL)
_BLANKS = re.compile(r"\s*+")
_END = ""


class UnreadableError(RocketnsError):
    """What is to be recorded cannot be read, so nobody knows whether there is a secret in it."""


class Members(tuple[tuple[str, "Node"], ...]):
    """An object: its keys as tokens, with their values."""


Node = str | list["Node"] | Members


def parse(data: bytes) -> Node:
    """The tree of one JSON text. UnreadableError where it is none."""
    tokens = _tokens(data.decode(_BYTES))
    node = _value(next(tokens), tokens, DEPTH_MAX)
    if next(tokens) != _END:
        raise UnreadableError("something follows the JSON text")
    return node


def write(node: Node) -> bytes:
    """The text of a tree, without blanks."""
    return _text(node).encode(_BYTES)


def text_of(token: str) -> str:
    """What a token of a scalar or a key says: a string without its quotes and escapes, anything else as it is."""
    if not token.startswith('"'):
        return token.encode(_BYTES).decode("utf-8", "replace")
    try:
        return str(json.loads(token.encode(_BYTES), strict=False))
    except ValueError as error:
        raise UnreadableError("a string with an escape that is none") from error


def token_of(text: str) -> str:
    """The token of a string."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace").decode(_BYTES)


def _text(node: Node) -> str:
    if isinstance(node, Members):
        return "{" + ",".join(f"{key}:{_text(value)}" for key, value in node) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(_text, node)) + "]"
    return node


def _tokens(text: str) -> Iterator[str]:
    """All tokens, then `_END` for ever."""
    at, number = _after_blanks(text, 0), 0
    while at < len(text):
        number += 1
        if number > TOKENS_MAX:
            raise UnreadableError(f"more than {TOKENS_MAX} strings, numbers and signs")
        found = _TOKEN.match(text, at)
        if found is None:
            raise UnreadableError("a string without an end")
        yield found[0]
        at = _after_blanks(text, found.end())
    while True:
        yield _END


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


def _value(token: str, tokens: Iterator[str], depth: int) -> Node:
    if depth < 0:
        raise UnreadableError(f"more than {DEPTH_MAX} objects and arrays in each other")
    if token == "{":
        return Members(_members(tokens, depth - 1))
    if token == "[":
        return list(_elements(tokens, depth - 1))
    return _scalar(token)


def _scalar(token: str) -> str:
    if token == _END or token in "{}[]:,":
        raise UnreadableError("no JSON")
    return token


def _members(tokens: Iterator[str], depth: int) -> Iterator[tuple[str, Node]]:
    token = next(tokens)
    while token != "}":
        key = _scalar(token)
        if next(tokens) != ":":
            raise UnreadableError("a member without a value")
        yield key, _value(next(tokens), tokens, depth)
        token = _after_comma(tokens, "}")


def _elements(tokens: Iterator[str], depth: int) -> Iterator[Node]:
    token = next(tokens)
    while token != "]":
        yield _value(token, tokens, depth)
        token = _after_comma(tokens, "]")


def _after_comma(tokens: Iterator[str], end: str) -> str:
    token = next(tokens)
    if token == end:
        return token
    if token != ",":
        raise UnreadableError("no comma between two values")
    return next(tokens)
