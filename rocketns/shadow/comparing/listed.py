"""The listed differences of docs/differences.md, by their ids: how one pair of answers shows each of them.

Those of requests that clients, brokers and tools send, as far as one pair shows them. Others are in a file, show when a
process starts or stops, need what happened before, or a request that only attacks send: such pairs count as different.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from rocketns.protocol.codes import RequestCode as Code
from rocketns.protocol.codes import ResponseCode as Answer
from rocketns.shadow.frames import ReadAnswer, ReadRequest
from rocketns.shadow.pairs import Pair
from rocketns.shadow.tree import sort_at, write

WRITTEN = (Code.PUT_KV_CONFIG, Code.DELETE_KV_CONFIG, Code.UPDATE_NAMESRV_CONFIG)
# A header of this size is bounded as docs/differences.md says; a smaller one has no reason to be refused.
LARGE_HEADER_BYTES = 16 * 1024
_LIMIT = re.compile(r"more than \d+|longer than the \d+ bytes|bytes of names|has more bytes than|not a number: 0{60}")
_OPERATORS = re.compile(rb"(?m)^\s*(?:rocketns\.|tls\.|journal)")
_GROUPS, _CLUSTERS, _ADDRS, _CLUSTER = '"brokerAddrTable"', '"clusterAddrTable"', '"brokerAddrs"', '"cluster"'
_MAPPINGS = '"topicQueueMappingByBroker"'


class Case(NamedTuple):
    """A pair that differs. An answer that did not come, or is no frame, has no code."""

    asked: ReadRequest
    java: ReadAnswer
    own: ReadAnswer

    def codes(self, java: int, own: int, *requests: Code) -> bool:
        """Whether both answered one of these requests with such codes. Without requests: any."""
        return (self.java.code, self.own.code) == (java, own) and (not requests or self.asked.code in requests)


Shows = Callable[[Case], bool]


def _says(case: Case, text: str) -> bool:
    """Whether rocketns' remark has a text, where Java's has not."""
    return text in case.own.remark and text not in case.java.remark


def _names(*limits: str) -> Shows:
    return lambda case: any(_says(case, f"{limit}=") for limit in limits)


def _limit(case: Case) -> bool:
    """A refused body, or a connection that rocketns closes because of a large header."""
    if case.own.code is None:
        is_large = len(case.asked.header) > LARGE_HEADER_BYTES and case.asked.command is None
        return is_large and case.java.code is not None
    return case.codes(Answer.SUCCESS, Answer.SYSTEM_ERROR) and _LIMIT.search(case.own.remark) is not None


def _busy_lookup(case: Case) -> bool:
    lookup = Code.GET_ROUTEINFO_BY_TOPIC
    return any(case.codes(Answer.SYSTEM_BUSY, own, lookup) for own in (Answer.SUCCESS, Answer.TOPIC_NOT_EXIST))


def _digests(case: Case) -> bool:
    return case.asked.code == Code.GET_ROUTE_DIGESTS and case.java.code == Answer.REQUEST_CODE_NOT_SUPPORTED


# What Java keeps for ever, and rocketns does not: in answers to 106, and the static-topic mappings of a route.


def _leftovers(case: Case) -> bool:
    """Whether two answers to 106 differ only in groups and names without brokers, and rocketns has none of them."""
    if not case.codes(Answer.SUCCESS, Answer.SUCCESS, Code.GET_BROKER_CLUSTER_INFO):
        return False
    own: Any = case.own.tree
    try:
        shown = own[_GROUPS], {cluster: sorted(names) for cluster, names in own[_CLUSTERS].items()}
        return _alive(case.java.tree) == _alive(own) == shown
    except (AttributeError, KeyError, TypeError):  # no answer to 106
        return False


def _alive(info: Any) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Of an answer to 106: the groups that have an address, and the names of each cluster that are its groups."""
    groups = {name: group for name, group in info[_GROUPS].items() if group[_ADDRS]}
    clusters = {
        cluster: sorted(name for name in names if name in groups and groups[name][_CLUSTER] == cluster)
        for cluster, names in info[_CLUSTERS].items()
    }
    return groups, {cluster: names for cluster, names in clusters.items() if names}


def _more_mappings(case: Case) -> bool:
    """Whether two routes differ only in static-topic mappings, of which Java's has more."""
    if not case.codes(Answer.SUCCESS, Answer.SUCCESS, Code.GET_ROUTEINFO_BY_TOPIC):
        return False
    java, own = case.java.tree, case.own.tree
    if not (isinstance(java, dict) and isinstance(own, dict)):
        return False
    more, fewer = java.get(_MAPPINGS), own.get(_MAPPINGS, {})
    if not isinstance(more, dict) or not isinstance(fewer, dict) or not fewer.items() < more.items():
        return False
    return _route(java) == _route(own)


def _route(route: dict[str, Any]) -> str:
    rest = {name: value for name, value in route.items() if name != _MAPPINGS}
    return write(sort_at(sort_at(rest, ["brokerDatas"]), ["queueDatas"]))


SEEN: dict[str, Shows] = {
    "long-names": _names("rocketns.nameBytesMax"),
    "full-tables": _names("rocketns.routesMax", "rocketns.brokerRoutesMax", "rocketns.brokersMax"),
    "kv-limits": _names("rocketns.kvValueBytesMax", "rocketns.kvBytesMax"),
    "file-not-written": lambda case: case.asked.code in WRITTEN and _says(case, "cannot write"),
    "operators-properties": lambda case: (
        case.codes(Answer.SUCCESS, Answer.NO_PERMISSION, Code.UPDATE_NAMESRV_CONFIG)
        and _OPERATORS.search(case.asked.body) is not None
    ),
    "route-digests": _digests,
    "lookups-without-a-queue": _busy_lookup,
    "limits": _limit,
    "entries-without-end": _leftovers,
    "mappings-without-end": _more_mappings,
}


def listed(pair: Pair, request: ReadRequest) -> str:
    """The id of the listed difference that a pair shows; empty for none."""
    case = Case(request, ReadAnswer(pair.upstream or b""), ReadAnswer(pair.own or b""))
    return next((name for name, shows in SEEN.items() if shows(case)), "")
