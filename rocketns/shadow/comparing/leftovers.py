"""What Java keeps for ever, and rocketns does not: in answers to 106, and the static-topic mappings of a route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rocketns.protocol.codes import RequestCode, ResponseCode
from rocketns.shadow.comparing.cases import Case
from rocketns.shadow.comparing.tokens import sort_at, write

_GROUPS, _CLUSTERS, _ADDRS, _CLUSTER = '"brokerAddrTable"', '"clusterAddrTable"', '"brokerAddrs"', '"cluster"'
_MAPPINGS = '"topicQueueMappingByBroker"'
_NULL, _EMPTY = "null", '""'


class Kept(NamedTuple):
    """An answer to 106 without what Java keeps for ever, and the kinds of what was left out: ``null`` names in a
    cluster, ``address`` that are empty, and every other ``group`` or name."""

    text: str
    kinds: frozenset[str]


def of_kind(kind: str) -> Callable[[Case], bool]:
    """Whether two answers to 106 differ only in what Java keeps, and something of this kind is among it."""

    def shows(case: Case) -> bool:
        if case.java is None or case.own is None:
            return False
        if not case.codes(ResponseCode.SUCCESS, ResponseCode.SUCCESS, RequestCode.GET_BROKER_CLUSTER_INFO):
            return False
        java, own = _without_leftovers(case.java.tree), _without_leftovers(case.own.tree)
        return java is not None and own is not None and java.text == own.text and kind in java.kinds - own.kinds

    return shows


def _without_leftovers(info: Any) -> Kept | None:
    """None where it is no answer to 106."""
    try:
        return _kept(info[_GROUPS], info[_CLUSTERS])
    except (AttributeError, KeyError, TypeError):
        return None


def _kept(groups: dict[str, Any], clusters: dict[str, Any]) -> Kept:
    kinds: set[str] = set()
    full = {name: _with_addresses(group, kinds) for name, group in sorted(groups.items())}
    alive = {name: group for name, group in full.items() if group[_ADDRS]}
    if len(alive) < len(full):
        kinds.add("group")
    members = {cluster: _members(cluster, names, alive, kinds) for cluster, names in sorted(clusters.items())}
    rest: dict[str, Any] = {_GROUPS: alive, _CLUSTERS: {cluster: names for cluster, names in members.items() if names}}
    return Kept(write(rest), frozenset(kinds))


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


def mappings(case: Case) -> bool:
    """Whether two routes differ only in static-topic mappings, of which Java's has more."""
    if case.java is None or case.own is None:
        return False
    if not case.codes(ResponseCode.SUCCESS, ResponseCode.SUCCESS, RequestCode.GET_ROUTEINFO_BY_TOPIC):
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
