"""In what two answers differ: the paths of the members, such as ``body.brokerDatas[broker-a].cluster``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from rocketns.shadow.pairs import DIFFERENCES_MAX, SHOWN_CHARACTERS, Difference
from rocketns.shadow.tree import Node, UnreadableError, parse_compact, write

NAME_CHARACTERS = 80
ABSENT = ""
# Of a text that is neither JSON nor lines: so much before the first difference is shown.
BEFORE = 20
_LINE = re.compile(r"^([A-Za-z][\w.]*)=(.*)$", re.M)


def explained(parts: Mapping[str, tuple[str, str]]) -> tuple[Difference, ...]:
    """The first DIFFERENCES_MAX members that differ, cut to what is shown; ``parts`` are those that differ."""
    found = (one for name, (upstream, own) in parts.items() for one in _of_part(name, upstream, own))
    return tuple(_cut(one) for one in islice(found, DIFFERENCES_MAX))


def _cut(one: Difference) -> Difference:
    return Difference(_text_of(one.path)[: 2 * SHOWN_CHARACTERS], _short(one.upstream), _short(one.own))


def _short(text: str) -> str:
    shown = _text_of(text[: 4 * SHOWN_CHARACTERS])
    return shown if len(shown) <= SHOWN_CHARACTERS else shown[: SHOWN_CHARACTERS - 1] + "…"


def _text_of(text: str) -> str:
    """Parts have one character a byte. Names in other scripts are shown as they are."""
    try:
        return text.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:  # of a binary header, which is text already
        return text


def _of_part(name: str, upstream: str, own: str) -> Iterator[Difference]:
    if not (upstream and own):
        yield Difference(name, upstream, own)
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


def _of_texts(name: str, upstream: str, own: str) -> Iterator[Difference]:
    """Lines of properties by their keys; any other text from its first difference on."""
    one, other = (dict(_LINE.findall(text)) for text in (upstream, own))
    if one and other and one != other:
        for key in sorted(one.keys() | other.keys()):
            if one.get(key) != other.get(key):
                yield Difference(f"{name}.{key}", one.get(key, ABSENT), other.get(key, ABSENT))
        return
    at = max(_first_difference(upstream, own) - BEFORE, 0)
    yield Difference(f"{name} from character {at}" if at else name, upstream[at:], own[at:])


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


def _of_nodes(path: str, one: Node, other: Node) -> Iterator[Difference]:
    if one == other:
        yield from _of_orders(path, one, other)
    elif isinstance(one, dict) and isinstance(other, dict):
        yield from _of_members(path, one, other)
    elif isinstance(one, list) and isinstance(other, list):
        yield from _of_lists(path, one, other)
    else:
        yield Difference(path, write(one), write(other))


def _of_orders(path: str, one: Node, other: Node) -> Iterator[Difference]:
    """Dictionaries are equal in any order; answers are not."""
    if write(one) != write(other):
        yield Difference(f"{path} (order)", write(one), write(other))


def _of_members(path: str, one: dict[str, Node], other: dict[str, Node], form: str = "{}.{}") -> Iterator[Difference]:
    before = False
    for key in [*one, *(key for key in other if key not in one)]:
        inner = form.format(path, key.strip('"')[:NAME_CHARACTERS])
        if key not in one or key not in other:
            yield Difference(inner, _text(one, key), _text(other, key))
            before = True
        elif one[key] != other[key]:
            yield from _of_nodes(inner, one[key], other[key])
            before = True
    if not before:
        yield Difference(f"{path} (order)", write(one), write(other))


def _of_lists(path: str, one: list[Node], other: list[Node]) -> Iterator[Difference]:
    """Elements with names by their names, texts as sets, anything else by its place."""
    named, also = _by_name(one), _by_name(other)
    if named is not None and also is not None:
        yield from _of_members(path, named, also, "{}[{}]")
    elif all(isinstance(item, str) for item in (*one, *other)):
        yield from _of_sets(path, Counter(map(str, one)), Counter(map(str, other)))
    else:
        at, also_at = ({str(place): item for place, item in enumerate(items)} for items in (one, other))
        yield from _of_members(path, at, also_at, "{}[{}]")


def _of_sets(path: str, one: Counter[str], other: Counter[str]) -> Iterator[Difference]:
    more, fewer = one - other, other - one
    if more or fewer:
        yield Difference(path, _listed(more), _listed(fewer))
    else:
        yield Difference(f"{path} (order)", _listed(one), _listed(other))


def _listed(names: Counter[str]) -> str:
    """What only one side has: how many, and the first of them."""
    return f"{names.total()} that the other lacks: {', '.join(sorted(names)[:10])}" if names else ABSENT


def _by_name(items: list[Node]) -> dict[str, Node] | None:
    """Objects by their member brokerName; None if some have none, or the same."""
    named: dict[str, Node] = {}
    for item in items:
        name = item.get('"brokerName"') if isinstance(item, dict) else None
        if not isinstance(name, str) or name in named:
            return None
        named[name] = item
    return named


def _text(members: dict[str, Node], key: str) -> str:
    return write(members[key]) if key in members else ABSENT
