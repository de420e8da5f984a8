"""All that a name server answers about routes, in every form, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from interop.harness import codes
from rocketns.processor import dispatch
from rocketns.protocol.body.route import DataVersion
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.routeinfo.tables import BrokerLiveInfo, RouteTables
from tests.journal.wild.grammar import CLUSTERS, NAMES, TOPICS
from tests.journal.wild.world import World

FORMS: tuple[tuple[int, dict[str, str]], ...] = (
    (400, {}), (400, {"acceptStandardJsonOnly": "true"}), (513, {}),
    (513, {"__ZONE_MODE": "true", "__ZONE_NAME": "Z1"}),
)  # fmt: skip
LISTS = (
    codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, codes.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    codes.GET_UNIT_TOPIC_LIST, codes.GET_HAS_UNIT_SUB_TOPIC_LIST, codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    codes.GET_ROUTE_DIGESTS,
)  # fmt: skip

Question = tuple[int, dict[str, str], int]


def questions(tables: RouteTables) -> Iterator[Question]:
    """Code, fields and version of every reading request about what the tables or the grammar name."""
    for topic in sorted({*TOPICS, *tables.topic_queue_table}):
        for version, form in FORMS:
            yield codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic} | form, version
    for code in LISTS:
        yield code, {}, 513
    for cluster in sorted({*CLUSTERS, *tables.cluster_addr_table}):
        yield codes.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, 513
    for name in sorted({*NAMES, *tables.broker_addr_table}):
        yield codes.GET_BROKER_MEMBER_GROUP, {"brokerName": name, "clusterName": "C"}, 513


def answers(world: World, asked: list[Question]) -> dict[str, Reply]:
    """With acting masters and without."""
    config, found = world.configuration.namesrv, {}
    was = config.support_acting_master
    for config.support_acting_master in (False, True):
        for code, ext, version in asked:
            command = RemotingCommand(code, version, 1, 0, dict(ext), None)
            reply = dispatch.process(world.context, command, world.peers[0], world.now)
            found[f"{code} {ext} version {version} acting {config.support_acting_master}"] = reply
    config.support_acting_master = was
    return found


class Entry(NamedTuple):
    """A live entry: what 322 says of an address, which would be a sign of life, and what a slave is told of its master.

    None but ``filters``: there are only filter servers.
    """

    version: DataVersion | None
    ha_addr: str | None
    timeout_ms: int | None
    announced_by: str | None
    filters: list[str | None]


Said = dict[tuple[str, str], Entry]


def live_entries(tables: RouteTables) -> Said:
    """By cluster and address."""
    found = {}
    for key in tables.broker_live_table.keys() | tables.filter_server_table.keys():
        entry, filters = tables.broker_live_table.get(key), tables.filter_server_table.get(key, [])
        found[key.cluster, key.addr] = Entry(*_of(entry), filters)
    return found


def _of(entry: BrokerLiveInfo | None) -> tuple[DataVersion | None, str | None, int | None, str | None]:
    if entry is None:
        return None, None, None, None
    return entry.data_version, entry.ha_server_addr, entry.timeout_ms, entry.announced_by
