"""What settles a registration whose answers differ: 103 is a sign of life of a broker, and is never sent again.

Its answer has the KV items of ORDER_TOPIC_CONFIG, and for a slave the addresses of its master. A change of these on
another connection may reach the two servers in another order. So both are asked for what the answers show: 219 for
the items, 106 for the master. 106 does not show haServerAddr: where that differs alone, nothing can be asked.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import blake2b

from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG, SerializeType
from rocketns.protocol.codes import RequestCode as Code
from rocketns.protocol.codes import ResponseCode as Answer
from rocketns.protocol.encoding import encode_request
from rocketns.shadow.comparing.cases import ReadAnswer, ReadRequest
from rocketns.shadow.comparing.comparing import Comparing, Finding
from rocketns.shadow.pairs import Outcome, Pair
from rocketns.shadow.questions import REQUEST_BYTES_MAX, Again, Judged
from rocketns.shadow.tree import Node, parse_compact

EXCUSED_MAX = 10_000
# Their opaque is replaced whenever they are asked.
_, _KV = encode_request(Code.GET_KVLIST_BY_NAMESPACE, {"namespace": NAMESPACE_ORDER_TOPIC_CONFIG}, SerializeType.JSON)
_, _BROKERS = encode_request(Code.GET_BROKER_CLUSTER_INFO, {}, SerializeType.JSON)
_MASTER, _HA = '"masterAddr"', '"haServerAddr"'
_SAME = frozenset({Outcome.EQUAL, Outcome.ORDER})


def asked_instead(pair: Pair, request: ReadRequest, finding: Finding) -> tuple[bytes, ...]:
    """The requests that show what differs; none where something else differs, or cannot be asked."""
    if request.code != Code.REGISTER_BROKER or pair.upstream is None or pair.own is None:
        return ()
    if len(request.header) > REQUEST_BYTES_MAX:
        return ()
    if not all(one.path.startswith(("header.extFields", "body")) for one in finding.differences):
        return ()
    try:
        return _asks(ReadAnswer(pair.upstream), ReadAnswer(pair.own))
    except ValueError:
        return ()


def _asks(upstream: ReadAnswer, own: ReadAnswer) -> tuple[bytes, ...]:
    """ValueError for answers in which other members differ, or that are none to 103."""
    one, other = _fields(upstream), _fields(own)
    differing = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    if differing and (_MASTER not in differing or differing - {_MASTER, _HA}):
        raise ValueError("fields that cannot be asked")
    has_other_items = _items(upstream) != _items(own)
    return ((_KV,) if has_other_items else ()) + ((_BROKERS,) if differing else ())


def _fields(said: ReadAnswer) -> dict[str, Node]:
    header = parse_compact(said.header)
    fields = header.get('"extFields"', {}) if isinstance(header, dict) else ""
    if not isinstance(fields, dict):
        raise ValueError("no fields")
    return fields


def _items(said: ReadAnswer) -> Node:
    """Without a namespace there is no body."""
    if not said.body:
        return ""
    tree = parse_compact(said.body)
    if not isinstance(tree, dict) or tree.keys() != {'"table"'}:
        raise ValueError("no table")
    return tree['"table"']


def say_the_same(again: Again, broker: str | None, comparing: Comparing, now_ms: int) -> bool:
    """Whether both servers said the same to one of `asked_instead`, and it is an answer. ``broker`` is the name."""
    if again.upstream is None or again.own is None:
        return False
    upstream, own = ReadAnswer(again.upstream), ReadAnswer(again.own)
    if upstream.code != own.code or upstream.code not in (Answer.SUCCESS, Answer.QUERY_NOT_FOUND):
        return False
    if ReadRequest(again.request).code == Code.GET_BROKER_CLUSTER_INFO:
        members = _members(upstream, broker)
        return members is not None and members == _members(own, broker)
    pair = Pair(0, "", now_ms, again.request, again.upstream, again.own, None, None)
    return comparing.compare(pair).outcome in _SAME


def _members(said: ReadAnswer, broker: str | None) -> Node | None:
    """The addresses of the broker's group, empty if it is gone; None if the answer has no groups."""
    groups = said.tree.get('"brokerAddrTable"') if isinstance(said.tree, dict) else None
    if not isinstance(groups, dict):
        return None
    name = json.dumps(broker, ensure_ascii=False)
    group = groups.get(name.encode("utf-8", "replace").decode("latin-1"), {})
    return group.get('"brokerAddrs"', {}) if isinstance(group, dict) else None


class Excused:
    """Registrations that were settled. One that differs in the same once more is no race: its answers are wrong,
    while those to 219 and 106 are right."""

    def __init__(self) -> None:
        self._at: OrderedDict[bytes, int] = OrderedDict()

    def add(self, judged: Judged, now_ms: int) -> None:
        """It was settled at this time, of the wall clock."""
        key = _key(judged)
        self._at[key] = now_ms
        self._at.move_to_end(key)
        if len(self._at) > EXCUSED_MAX:
            self._at.popitem(last=False)

    def has(self, judged: Judged, at_ms: int) -> bool:
        """Whether the same was settled before this time."""
        known = self._at.get(_key(judged))
        return known is not None and at_ms > known


def _key(judged: Judged) -> bytes:
    return blake2b(repr((judged.broker, judged.finding.differences)).encode(), digest_size=16).digest()
