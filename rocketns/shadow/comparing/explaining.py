"""In what two answers differ: the paths of the members, such as ``body.brokerDatas[broker-a].cluster``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from rocketns.shadow.pairs import DIFFERENCES_MAX, SHOWN_CHARACTERS, MemberDifference
from rocketns.shadow.tree import Node, UnreadableError, parse_compact, write

NAME_CHARACTERS = 80
ABSENT = ""
# Of a text that is neither JSON nor lines: so much before the first difference is shown.
BEFORE = 20
_LINE = re.compile(r"^([A-Za-z][\w.]*)=(.*)$", re.M)


def explained(parts: Mapping[str, tuple[str, str]]) -> tuple[MemberDifference, ...]:
    """The first DIFFERENCES_MAX members that differ, cut to what is shown; ``parts`` are those that differ."""
    found = (one for name, (upstream, own) in parts.items() for one in _of_part(name, upstream, own))
    return tuple(_cut(one) for one in islice(found, DIFFERENCES_MAX))


def _cut(one: MemberDifference) -> MemberDifference:
    return MemberDifference(_text_of(one.path)[: 2 * SHOWN_CHARACTERS], _short(one.upstream), _short(one.own))


def _short(text: str) -> str:
    shown = _text_of(text[: 4 * SHOWN_CHARACTERS])
    return shown if len(shown) <= SHOWN_CHARACTERS else shown[: SHOWN_CHARACTERS - 1] + "…"


def _text_of(text: str) -> str:
    """Parts have one character a byte. Names in other scripts are shown as they are."""
    try:
        return text.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:  # of a binary header, which is text already
        return text


def _of_part(name: str, upstream: str, own: str) -> Iterator[MemberDifference]:
    if not (upstream and own):
        yield MemberDifference(name, upstream, own)
        return
    trees: tuple[Node, Node]
    try:
        trees = parse_compact(upstream), parse_compact(own)
    except UnreadableError:
        trees = upstream, own
    if all(isinstance(tree, str) for tree in trees):
        yield from _of_texts(name, upstream, own)
    else:
        yield from _of_nodes(name, *trees)


def _of_texts(name: str, upstream: str, own: str) -> Iterator[MemberDifference]:
    """Lines of properties by their keys; any other text from its first difference on."""
    one, other = (dict(_LINE.findall(text)) for text in (upstream, own))
    if one and other and one != other:
        for key in sorted(one.keys() | other.keys()):
            if one.get(key) != other.get(key):
                yield MemberDifference(f"{name}.{key}", one.get(key, ABSENT), other.get(key, ABSENT))
        return
    at = max(_first_difference(upstream, own) - BEFORE, 0)
    yield MemberDifference(f"{name} from character {at}" if at else name, upstream[at:], own[at:])


def _first_difference(one: str, other: str) -> int:
    """By halves: comparing slices is quick, also of megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _of_nodes(path: str, one: Node, other: Node) -> Iterator[MemberDifference]:
    """Dictionaries are equal in any order; answers are not."""
    if isinstance(one, str) or isinstance(other, str) or isinstance(one, dict) is not isinstance(other, dict):
        yield MemberDifference(path, write(one), write(other))
        return
    mine, others, is_in_order = _members(one), _members(other), True
    for key in mine | others:
        if mine.get(key) != others.get(key):
            is_in_order = False
            name = key.replace('"', "")[:NAME_CHARACTERS]
            inner = f"{path}.{name}" if isinstance(one, dict) else f"{path}[{name}]"
            if key in mine and key in others:
                yield from _of_nodes(inner, mine[key], others[key])
            else:
                yield MemberDifference(
                    inner, *(write(found[key]) if key in found else ABSENT for found in (mine, others))
                )
    if is_in_order and write(one) != write(other):
        yield MemberDifference(f"{path} (order)", write(one), write(other))


def _members(node: dict[str, Node] | list[Node]) -> dict[str, Node]:
    """Of a list: objects by their member brokerName, texts by themselves, anything else and repeated ones by place."""
    if isinstance(node, dict):
        return node
    found: dict[str, Node] = {}
    for index, item in enumerate(node):
        name = item.get('"brokerName"') if isinstance(item, dict) else item
        key = name if isinstance(name, str) else str(index)
        found[key if key not in found else f"{key} at {index}"] = item
    return found
