"""Whether two bodies differ only in the order of a list, seen without decoding them. The usual ones: routes and topics.

It says yes only where sorting the decoded lists makes the bodies equal; a no proves nothing. Without a backslash in a
body each quote begins or ends a text, so the separators below are between elements and never in a text.
"""

from __future__ import annotations

_LISTS = (b'{"topicList":["', b'{"brokerAddr":"')
_TOPICS = b'"topicList":["'
_TOPICS_END = b'"]'
_BETWEEN_TOPICS = b'","'
_BROKERS = b'{"brokerDatas":[{"brokerAddrs":'
_BETWEEN_BROKERS = b'},{"brokerAddrs":'
_QUEUES = b'"queueDatas":[{"brokerName":'
_BETWEEN_QUEUES = b'},{"brokerName":'
_END = b"}]"


def differ_only_in_order(one: bytes, other: bytes) -> bool:
    """Two bodies that are not equal."""
    if len(one) != len(other) or b"\\" in one or b"\\" in other:
        return False
    if one.startswith(_BROKERS):
        return other.startswith(_BROKERS) and _same_routes(one, other)
    return one.startswith(_LISTS) and _same_topics(one, other)


def _same_topics(one: bytes, other: bytes) -> bool:
    start, end = _ends_of(one, _TOPICS, _TOPICS_END, 0)
    if start < 0 or (start, end) != _ends_of(other, _TOPICS, _TOPICS_END, 0):
        return False
    return _same(one, other, start, end, _BETWEEN_TOPICS) and one[:start] + one[end:] == other[:start] + other[end:]


def _same_routes(one: bytes, other: bytes) -> bool:
    """Lists of brokers and of queues of the same length, in the same places."""
    brokers = _ends_of(one, _BROKERS, _END, 0)
    queues = _ends_of(one, _QUEUES, _END, brokers[1])
    if min(queues) < 0 or brokers != _ends_of(other, _BROKERS, _END, 0):
        return False
    if queues != _ends_of(other, _QUEUES, _END, brokers[1]):
        return False
    if _rest(one, brokers, queues) != _rest(other, brokers, queues):
        return False
    return _same(one, other, *brokers, _BETWEEN_BROKERS) and _same(one, other, *queues, _BETWEEN_QUEUES)


def _rest(body: bytes, brokers: tuple[int, int], queues: tuple[int, int]) -> tuple[bytes, bytes, bytes]:
    return body[: brokers[0]], body[brokers[1] : queues[0]], body[queues[1] :]


def _ends_of(body: bytes, opens: bytes, closes: bytes, after: int) -> tuple[int, int]:
    """Where the first element begins behind what all begin with, and where the last one ends; -1 for none."""
    start = body.find(opens, max(after, 0))
    if start < 0:
        return -1, -1
    return start + len(opens), body.find(closes, start + len(opens))


def _same(one: bytes, other: bytes, start: int, end: int, between: bytes) -> bool:
    return end >= 0 and sorted(one[start:end].split(between)) == sorted(other[start:end].split(between))
