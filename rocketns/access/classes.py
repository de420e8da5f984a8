"""The classes of requests, for which rights are given; and what one request asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial

from rocketns.errors import RequestError
from rocketns.protocol.body.decoding import decode_queue_datas
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG, RequestCode
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables

# The requests that name the broker that they are about in their ext fields.
OF_A_BROKER = frozenset({
    RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER, RequestCode.QUERY_DATA_VERSION,
    RequestCode.BROKER_HEARTBEAT,
})  # fmt: skip
OF_A_NAMESPACE = frozenset({
    RequestCode.PUT_KV_CONFIG, RequestCode.GET_KV_CONFIG, RequestCode.DELETE_KV_CONFIG,
    RequestCode.GET_KVLIST_BY_NAMESPACE,
})  # fmt: skip
# Brokers read members of groups, their clusters and the order of topics.
ALSO_OF_BROKERS = frozenset({RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO})
# Groups of one address that are judged by their names. An address in more of them is nobody's by its name.
GROUPS_OF_AN_ADDRESS_MAX = 64


class Access(StrEnum):
    """What a request is for. A right is given for a class.

    LOOKUP: a route. READ: what costs little. SCAN: lists for which all topics are walked. CONFIG: the configuration of
    the name server. BROKER: what brokers send of themselves. ADMIN: what changes the routes of others, the KV table or
    the configuration. OFF: codes that nobody answers.
    """

    LOOKUP = "lookup"
    READ = "read"
    SCAN = "scan"
    CONFIG = "config"
    BROKER = "broker"
    ADMIN = "admin"
    OFF = "off"


RIGHTS = tuple(access for access in Access if access is not Access.OFF)


class Mode(StrEnum):
    """OFF: nothing is decided, as in Java. OBSERVE: what would be refused is told, and answered. ENFORCE: refused."""

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """``brokers`` gives the names of the brokers that it is about, "" for one that it does not name.

    ``address``: the address of the broker that it registers; None if it registers none. ``groups`` gives the names of
    the groups that have this address now. ``namespace``: of the KV table.
    """

    code: int
    access: Access
    brokers: Callable[[], list[str]] = list
    address: str | None = None
    namespace: str | None = None
    groups: Callable[[], list[str]] = list

    @property
    def is_for_brokers_too(self) -> bool:
        """Whether the right BROKER is enough."""
        is_order = self.access is Access.READ and self.namespace == NAMESPACE_ORDER_TOPIC_CONFIG
        return self.access is Access.BROKER or self.code in ALSO_OF_BROKERS or is_order


def access_request(command: RemotingCommand, access: Access, tables: RouteTables | None = None) -> AccessRequest:
    """What the request asks for; ``access`` is the class of its code.

    Without ``tables`` no group has the address.
    """
    code = command.code
    if code in OF_A_BROKER:
        name, address = command.ext("brokerName") or "", command.ext("brokerAddr") or ""
        cluster = command.ext("clusterName") or ""
        return AccessRequest(code, access, lambda: [name], address, groups=lambda: _groups_of(tables, cluster, address))
    if code in OF_A_NAMESPACE:
        return AccessRequest(code, access, namespace=command.ext("namespace") or "")
    if code == RequestCode.REGISTER_TOPIC_IN_NAMESRV:
        return AccessRequest(code, access, cache(partial(_brokers_in, command)))  # decoded once, for all principals
    return AccessRequest(code, access)


def _groups_of(tables: RouteTables | None, cluster: str, address: str) -> list[str]:
    """With a name that no broker has, if there are too many."""
    groups = () if tables is None else tables.members_of.get(BrokerAddrInfo(cluster, address), ())
    return [*groups] if len(groups) <= GROUPS_OF_AN_ADDRESS_MAX else [""]


def _brokers_in(command: RemotingCommand) -> list[str]:
    """The brokers of the body of REGISTER_TOPIC_IN_NAMESRV. None of a body that the processor refuses."""
    try:
        return [name or "" for name, _ in decode_queue_datas(command.body, command.name_bytes_max)]
    except RequestError:
        return []
