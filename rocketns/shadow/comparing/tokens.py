"""Compact JSON as a tree that keeps every token as it was written, so that writing it back gives the same text.

Objects are dicts in their order, arrays are lists, keys and scalars are their own text: ``"0"`` and ``0`` stay apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

Node = str | list["Node"] | dict[str, "Node"]

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^{}\[\]:,"\s]+')
# Answers of name servers have six levels at the most.
DEPTH_MAX = 64
# An answer to 106 with 1,000 brokers has 20,000. Long lists of topics are compared without a tree.
TOKENS_MAX = 1_000_000


def parse(text: str) -> Node:
    """Parse a text. ValueError if ``write`` would not return it unchanged, and for one that is too deep or too long."""
    tokens = (match[0] for match in islice(TOKEN.finditer(text), TOKENS_MAX))
    try:
        node = _value(next(tokens), tokens, DEPTH_MAX)
    except StopIteration:
        raise ValueError(f"JSON that is cut, or too long: {text[:100]!r}") from None
    if write(node) != text:
        raise ValueError(f"not compact JSON: {text[:100]!r}")
    return node


def write(node: Node) -> str:
    """The text again."""
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


def _value(token: str, rest: Iterator[str], levels: int) -> Node:
    if token not in ("{", "["):
        return token
    if not levels:
        raise ValueError(f"JSON of more than {DEPTH_MAX} levels")
    return _object(rest, levels - 1) if token == "{" else _array(rest, levels - 1)


def _object(rest: Iterator[str], levels: int) -> dict[str, Node]:
    members: dict[str, Node] = {}
    while (key := next(rest)) != "}":
        if key == ",":
            continue
        next(rest)  # the colon; write() shows when it was none
        members[key] = _value(next(rest), rest, levels)
    return members


def _array(rest: Iterator[str], levels: int) -> list[Node]:
    elements: list[Node] = []
    while (token := next(rest)) != "]":
        if token != ",":
            elements.append(_value(token, rest, levels))
    return elements
