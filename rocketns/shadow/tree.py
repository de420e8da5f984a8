"""JSON text as a tree that keeps each token as it was written, so that writing it back gives the same text.

Objects are dicts in their order, arrays are lists, keys and scalars are their own tokens: ``"0"`` and ``0`` stay apart,
and so does what only fastjson takes: ``{0:"a"}``. Texts of frames have one character a byte (latin-1), so whatever is
not changed is written back byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from rocketns.errors import RocketnsError

BYTES = "latin-1"
# Answers of name servers have six levels at the most.
DEPTH_MAX = 64
# Strings, numbers and signs. An answer to 106 with 1,000 brokers has 20,000, a list of a million topics two million.
TOKENS_MAX = 4_000_000

Node = str | list["Node"] | dict[str, "Node"]

# Possessive: a string of megabytes leaves nothing to go back to. A quote alone begins a string without an end.
_TOKEN = re.compile(r'"(?>[^"\\]+|\\.)*+"|[{}\[\]:,]|[^{}\[\]:,"\s]++|"', re.DOTALL)
_SIGNS = frozenset('{}[]:,"')


class UnreadableError(RocketnsError, ValueError):
    """A frame or a text of one cannot be read, so nobody knows what is in it."""


def parse(text: str) -> Node:
    """The tree of one JSON text. UnreadableError where it is none, is too deep or too long, or has a member twice.

    Blanks between tokens are not kept.
    """
    tokens = (match[0] for match in islice(_TOKEN.finditer(text), TOKENS_MAX))
    try:
        node = _value(next(tokens), tokens, DEPTH_MAX)
    except StopIteration:
        raise UnreadableError(f"JSON that is cut, or too long: {text[:100]!r}") from None
    if next(tokens, None) is not None:
        raise UnreadableError(f"something follows the JSON text: {text[:100]!r}")
    return node


def parse_compact(text: str) -> Node:
    """Likewise, and UnreadableError if `write` would not return the text unchanged."""
    node = parse(text)
    if write(node) != text:
        raise UnreadableError(f"not compact JSON: {text[:100]!r}")
    return node


def write(node: Node) -> str:
    """The text of a tree, without blanks."""
    if isinstance(node, dict):
        return "{" + ",".join(f"{key}:{write(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(write, node)) + "]"
    return node


def sort_at(node: Node, path: list[str]) -> Node:
    """The tree with the members or elements of the collection at ``path`` sorted by their text.

    A path step names a member, or is ``*`` for every member or element. Members that are not there are no error:
    one mark can serve for answers with and without them.
    """
    if not path:
        return sorted(node, key=write) if isinstance(node, list) else dict(sorted(node.items()))  # type: ignore[union-attr]
    if isinstance(node, list):
        return [sort_at(child, path[1:]) for child in node]
    chosen = ("*", f'"{path[0]}"')
    return {k: sort_at(v, path[1:]) if path[0] == "*" or k in chosen else v for k, v in node.items()}  # type: ignore[union-attr]


def text_of(token: str) -> str:
    """What a token of a scalar or a key says: a string without its quotes and escapes, anything else as it is."""
    if not token.startswith('"'):
        return token.encode(BYTES).decode("utf-8", "replace")
    try:
        return str(json.loads(token.encode(BYTES), strict=False))
    except ValueError as error:
        raise UnreadableError("a string with an escape that is none") from error


def _value(token: str, rest: Iterator[str], levels: int) -> Node:
    if token not in _SIGNS:
        return token
    if token not in "{[" or not levels:
        raise UnreadableError("no JSON" if levels else f"JSON of more than {DEPTH_MAX} levels")
    return _object(rest, levels - 1) if token == "{" else _array(rest, levels - 1)


def _object(rest: Iterator[str], levels: int) -> dict[str, Node]:
    members: dict[str, Node] = {}
    key = next(rest)
    while key != "}":
        if key in _SIGNS or key in members or next(rest) != ":":
            raise UnreadableError("an object with something else than members, or with one twice")
        members[key] = _value(next(rest), rest, levels)
        key = _after_comma(rest, "}")
    return members


def _array(rest: Iterator[str], levels: int) -> list[Node]:
    elements: list[Node] = []
    token = next(rest)
    while token != "]":
        elements.append(_value(token, rest, levels))
        token = _after_comma(rest, "]")
    return elements


def _after_comma(rest: Iterator[str], end: str) -> str:
    token = next(rest)
    if token not in (end, ","):
        raise UnreadableError("no comma between two values")
    return token if token == end else next(rest)
