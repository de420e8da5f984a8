"""The listed differences of docs/differences.md, by their ids: how one pair of answers shows each of them.

Most need no more than what was asked and answered. Others no pair shows: they are in a file, show when a process
starts or stops, or need what happened before, as docs/shadow.md says. Such pairs count as different.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rocketns.protocol.codes import RequestCode as Code
from rocketns.protocol.codes import ResponseCode as Answer
from rocketns.shadow.comparing.even import EXCEPTION
from rocketns.shadow.frames import ReadAnswer, ReadRequest
from rocketns.shadow.pairs import Pair
from rocketns.shadow.tree import sort_at, write

SETTINGS = (Code.UPDATE_NAMESRV_CONFIG,)
KV = (Code.PUT_KV_CONFIG, Code.DELETE_KV_CONFIG)
# A header of this size is bounded as docs/differences.md says; a smaller one has no reason to be refused.
LARGE_HEADER_BYTES = 16 * 1024
INFLATED_BYTES = 1024 * 1024
_LIMIT = re.compile(r"more than \d+|longer than the \d+ bytes|bytes of names|has more bytes than|not a number: 0{60}")
_CUT = "End of compressed data"  # what is said of a block beyond its limit, too
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\\u00[01][0-9a-fA-F]|\\u007[fF]|\\[nrf]")
_OPERATORS = re.compile(rb"(?m)^\s*(?:rocketns\.|tls\.|journal)")
_MEMBERS = re.compile(rb'"(?:callbackList|processTimer)"')
_GROUPS, _CLUSTERS, _ADDRS, _CLUSTER = '"brokerAddrTable"', '"clusterAddrTable"', '"brokerAddrs"', '"cluster"'
_MAPPINGS = '"topicQueueMappingByBroker"'
_NULL, _EMPTY = "null", '""'


@dataclass(frozen=True)
class Case:
    """A pair that differs. An answer is None where none came, or the connection was closed instead."""

    asked: ReadRequest
    java: ReadAnswer | None
    own: ReadAnswer | None

    def codes(self, java: int, own: int, *requests: Code) -> bool:
        """Whether both answered one of these requests with such codes. Without requests: any."""
        if self.java is None or self.own is None or (requests and self.asked.code not in requests):
            return False
        return (self.java.code, self.own.code) == (java, own)


Shows = Callable[[Case], bool]


def _says(case: Case, text: str) -> bool:
    """Whether rocketns' remark has a text, where Java's has not."""
    if case.own is None or text not in case.own.remark:
        return False
    return case.java is None or text not in case.java.remark


def _names(*limits: str) -> Shows:
    return lambda case: any(_says(case, f"{limit}=") for limit in limits)


def _limit(case: Case) -> bool:
    """A refused body, or a connection that rocketns closes because of a large header."""
    if case.own is None:
        return case.java is not None and len(case.asked.header) > LARGE_HEADER_BYTES and case.asked.command is None
    if not case.codes(Answer.SUCCESS, Answer.SYSTEM_ERROR):
        return False
    return _LIMIT.search(case.own.remark) is not None or (_CUT in case.own.remark and _inflates(case.asked.body))


def _inflates(body: bytes) -> bool:
    """Whether a deflated body is larger than the smallest limit. No more of it is inflated."""
    try:
        return len(zlib.decompressobj().decompress(body, INFLATED_BYTES)) == INFLATED_BYTES
    except zlib.error:
        return False


def _busy_lookup(case: Case) -> bool:
    lookup = Code.GET_ROUTEINFO_BY_TOPIC
    return any(case.codes(Answer.SYSTEM_BUSY, own, lookup) for own in (Answer.SUCCESS, Answer.TOPIC_NOT_EXIST))


def _deflated(case: Case) -> bool:
    """A zlib header, and the field says that there is none."""
    refused = case.codes(Answer.SYSTEM_ERROR, Answer.SUCCESS, Code.REGISTER_BROKER)
    return refused and case.asked.body[:1] == b"\x78" and case.asked.fields.get("compressed") != "true"


def _nameless_mapping(case: Case) -> bool:
    failed = case.codes(Answer.SYSTEM_ERROR, Answer.SUCCESS, Code.GET_ROUTEINFO_BY_TOPIC)
    return failed and case.java is not None and EXCEPTION.search(case.java.header) is not None


def _odd_json(pattern: re.Pattern[bytes], *, closed_here: bool) -> Shows:
    def shows(case: Case) -> bool:
        closed, answered = (case.own, case.java) if closed_here else (case.java, case.own)
        is_json = case.asked.frame[4:5] == b"\0"
        return closed is None and answered is not None and is_json and pattern.search(case.asked.header) is not None

    return shows


def _no_utf_8(case: Case) -> bool:
    try:
        case.asked.header.decode()
    except UnicodeDecodeError:
        return (case.java is None) is not (case.own is None)
    return False


def _setting(own: Answer, pattern: re.Pattern[bytes]) -> Shows:
    return lambda case: case.codes(Answer.SUCCESS, own, *SETTINGS) and pattern.search(case.asked.body) is not None


def _digests(case: Case) -> bool:
    return case.asked.code == Code.GET_ROUTE_DIGESTS and case.java is not None and (
        case.java.code == Answer.REQUEST_CODE_NOT_SUPPORTED
    )  # fmt: skip


# What Java keeps for ever, and rocketns does not: in answers to 106, and the static-topic mappings of a route.


def _leftover(kind: str) -> Shows:
    """Whether two answers to 106 differ only in what Java keeps, and something of this kind is among it: ``null`` names
    in a cluster, an ``address`` that is empty, every other ``group`` or name."""

    def shows(case: Case) -> bool:
        if case.java is None or case.own is None:
            return False
        if not case.codes(Answer.SUCCESS, Answer.SUCCESS, Code.GET_BROKER_CLUSTER_INFO):
            return False
        try:
            (java, more), (own, fewer) = _without_leftovers(case.java.tree), _without_leftovers(case.own.tree)
        except (AttributeError, KeyError, TypeError):  # no answer to 106
            return False
        return java == own and kind in more - fewer

    return shows


def _without_leftovers(info: Any) -> tuple[str, set[str]]:
    """An answer to 106 without the entries that Java never removes, and the kinds of these entries."""
    kinds: set[str] = set()
    full = {name: _with_addresses(group, kinds) for name, group in sorted(info[_GROUPS].items())}
    alive = {name: group for name, group in full.items() if group[_ADDRS]}
    if len(alive) < len(full):
        kinds.add("group")
    members = {one: _members(one, names, alive, kinds) for one, names in sorted(info[_CLUSTERS].items())}
    rest: dict[str, Any] = {_GROUPS: alive, _CLUSTERS: {one: names for one, names in members.items() if names}}
    return write(rest), kinds


def _with_addresses(group: dict[str, Any], kinds: set[str]) -> dict[str, Any]:
    """A group without empty addresses."""
    kept = {number: addr for number, addr in sorted(group[_ADDRS].items()) if addr != _EMPTY}
    if len(kept) < len(group[_ADDRS]):
        kinds.add("address")
    return group | {_ADDRS: kept}


def _members(cluster: str, names: list[str], alive: dict[str, Any], kinds: set[str]) -> list[Any]:
    """The names of a cluster whose group is in it."""
    kept = sorted(name for name in names if name in alive and alive[name][_CLUSTER] == cluster)
    if _NULL in names:
        kinds.add(_NULL)
    if len(kept) < len(names) - names.count(_NULL):
        kinds.add("group")
    return kept


def _more_mappings(case: Case) -> bool:
    """Whether two routes differ only in static-topic mappings, of which Java's has more."""
    if case.java is None or case.own is None:
        return False
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


# In this order: a reason that names itself comes before one that is told by the circumstances.
SEEN: dict[str, Shows] = {
    "long-names": _names("rocketns.nameBytesMax"),
    "full-tables": _names("rocketns.routesMax", "rocketns.brokerRoutesMax", "rocketns.brokersMax"),
    "kv-limits": _names("rocketns.kvValueBytesMax", "rocketns.kvBytesMax"),
    "file-not-written": lambda case: case.asked.code in {*KV, *SETTINGS} and _says(case, "cannot write"),
    "control-characters-in-settings": _setting(Answer.SYSTEM_ERROR, _CONTROL),
    "operators-properties": _setting(Answer.NO_PERMISSION, _OPERATORS),
    "route-digests": _digests,
    "lookups-without-a-queue": _busy_lookup,
    "deflated-marked-plain": _deflated,
    "mapping-without-name": _nameless_mapping,
    "members": _odd_json(_MEMBERS, closed_here=False),
    "zero-bytes": _odd_json(re.compile(rb"[\x00\x1a]"), closed_here=True),
    "bad-utf-8": _no_utf_8,
    "limits": _limit,
    "registration-without-name": _leftover("null"),
    "registration-without-address": _leftover("address"),
    "entries-without-end": _leftover("group"),
    "mappings-without-end": _more_mappings,
}


def listed(pair: Pair, request: ReadRequest) -> str:
    """The id of the listed difference that a pair shows; empty for none."""
    case = Case(request, *(None if answer is None else ReadAnswer(answer) for answer in (pair.upstream, pair.own)))
    return next((name for name, shows in SEEN.items() if shows(case)), "")
