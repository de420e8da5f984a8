"""The parts of an answer that are not compared, and why. Everything else is compared as bytes.

Hash order    Java lists these in the order of its hash maps: brokers and clusters of 106, addresses of 106 and 901,
              topics of 206, 224, 304, 311-313, key-value pairs of 219 and 103, broker and queue data of 105, and for
              peers before 4.9.4 (or with a zone) the maps in 105, which are sorted for all others and so compared.
One of many   The broker address of 304 is the first of the first group, both in hash order.
Exceptions    A remark that is a Java exception holds a stack frame. That there is one is compared, and for a body that
              cannot be decoded the class of the failure.
The clock     A data version that a registration did not bring is of the server's time.
The opaque    Of an answer to a request without one it is the server's own.
"""

from __future__ import annotations

import re
from functools import partial

from rocketns.shadow.comparing.frames import header_text, split
from rocketns.shadow.comparing.tokens import parse, sort_at, write

# By the first member that a body has. Inner collections come before the ones that hold them.
ALWAYS = {
    '"brokerAddrTable"': (
        "brokerAddrTable.*.brokerAddrs", "brokerAddrTable", "clusterAddrTable.*", "clusterAddrTable",
    ),
    '"brokerDatas"': ("brokerDatas", "queueDatas"),
    '"brokerMemberGroup"': ("brokerMemberGroup.brokerAddrs",),
    '"brokerAddr"': ("topicList",),
    '"topicList"': ("topicList",),
    '"table"': ("table",),
}  # fmt: skip
FOR_OLD_PEERS = (
    "brokerDatas.*.brokerAddrs",
    "filterServerTable",
    "topicQueueMappingByBroker.*.currIdMap",
    "topicQueueMappingByBroker",
)
FIRST_MEMBER = re.compile(r'\{("\w+")')
BARE_KEY = re.compile(r"[{,]-?\d+:")
EXCEPTION = re.compile(r'"remark":"((?:java|javax|com|org|io)(?:\.\w+)*\.\w*(?:Exception|Error)\b(?:[^"\\]|\\.)*)"')
DECODE_FAILURE = re.compile(
    r"org\.apache\.rocketmq\.remoting\.exception\.RemotingCommandException: [^,:]+,"
    r"|com\.alibaba\.fastjson2\.JSONException: "
)
REMARK = re.compile(r'"remark":"((?:[^"\\]|\\.)+)"')
TIMESTAMP = re.compile(r'"timestamp":(\d{13})\b')
OPAQUE = re.compile(r'"opaque":-?\d+')
BROKER_ADDR = re.compile(r'^\{"brokerAddr":"[^"]+"')
NOW_WITHIN_MS = 600_000

Parts = dict[str, str]

_LISTS = (b'{"topicList":["', b'{"brokerAddr":"')
_TOPICS = b'"topicList":["'
_TOPICS_END = b'"]'
_BETWEEN_TOPICS = b'","'
_BROKERS = b'{"brokerDatas":[{"brokerAddrs":'
_BETWEEN_BROKERS = b'},{"brokerAddrs":'
_QUEUES = b'"queueDatas":[{"brokerName":'
_BETWEEN_QUEUES = b'},{"brokerName":'
_END = b"}]"


def differing(
    upstream: bytes, own: bytes, now_ms: int, *, no_opaque: bool = False, exact: bool = False
) -> dict[str, tuple[str, str]]:
    """Two whole answers: the parts ``type``, ``header`` and ``body`` that differ, each as Java and as rocketns has it.

    ``exact``: nothing is sorted before. ValueError for bytes that are no frame.
    """
    sides = [parts_of(answer) for answer in (upstream, own)]
    make_even(sides, now_ms, no_opaque=no_opaque, exact=exact)
    one, other = sides
    return {part: (one[part], other[part]) for part in one if one[part] != other[part]}


def parts_of(answer: bytes) -> Parts:
    """The compared parts of a frame as text. ValueError if it is none."""
    header, body, kind = split(answer)
    return {"type": str(kind), "header": header_text(header, kind), "body": body.decode("latin-1")}


def make_even(sides: list[Parts], now_ms: int, *, no_opaque: bool = False, exact: bool = False) -> None:
    """Leave out of Java's and of rocketns' answer what is not compared."""
    if not exact:
        _sort_bodies(sides)
    for parts in sides:
        parts["body"] = TIMESTAMP.sub(partial(_now, now_ms), parts["body"])
        if no_opaque:
            parts["header"] = OPAQUE.sub('"opaque":ANY', parts["header"])
    _even_remarks(sides)


def _now(now_ms: int, match: re.Match[str]) -> str:
    return '"timestamp":NOW' if abs(int(match[1]) - now_ms) < NOW_WITHIN_MS else match[0]


def _sort_bodies(sides: list[Parts]) -> None:
    """Java's own body says in which dialect it is."""
    old = BARE_KEY.search(sides[0]["body"]) is not None
    bodies = [_sorted(parts["body"], old) for parts in sides]
    if all(body.startswith('{"brokerAddr":"') for body in bodies):
        bodies = [BROKER_ADDR.sub('{"brokerAddr":ONE_OF_MANY', body) for body in bodies]
    for parts, body in zip(sides, bodies, strict=True):
        parts["body"] = body


def _sorted(body: str, old: bool) -> str:
    first = FIRST_MEMBER.match(body)
    if first is None or first[1] not in ALWAYS:
        return body
    try:
        node = parse(body)
        for path in (FOR_OLD_PEERS if old else ()) + ALWAYS[first[1]]:
            node = sort_at(node, path.split("."))
        return write(node)
    except (ValueError, AttributeError):
        return body  # not the expected form, so it is compared unchanged


def _even_remarks(sides: list[Parts]) -> None:
    """Where Java's is an exception: the class of a failure to decode a body, and elsewhere only that there is one."""
    found = EXCEPTION.search(sides[0]["header"])
    if found is None:
        return
    for parts in sides:
        remark = REMARK.search(parts["header"])
        if remark is not None:
            known = DECODE_FAILURE.match(remark[1]) if DECODE_FAILURE.match(found[1]) else None
            start, end = remark.span(1)
            text = known[0] if known else "EXCEPTION"
            parts["header"] = parts["header"][:start] + text + parts["header"][end:]


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
