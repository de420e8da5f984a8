"""Brokers, topics, and how they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rocketns.admin.metrics.family import Family, Sample, counter, gauge, single
from rocketns.admin.metrics.scene import Scene
from rocketns.fleet.comparing import FactKind
from rocketns.server.missing.asked import TOPICS_MAX


def _brokers(scene: Scene) -> Iterator[Sample]:
    yield ("live",), scene.sizes.live
    yield ("late",), scene.sizes.late
    yield ("unconfirmed",), scene.sizes.unconfirmed


def _bytes(scene: Scene) -> Iterator[Sample]:
    yield ("control",), scene.sizes.topic_bytes
    yield ("reactors",), scene.facts.slot_bytes


def _name_servers(scene: Scene) -> Iterator[Sample]:
    members = scene.facts.fleet.members
    readable = sum(member.is_readable for member in members)
    yield ("readable",), readable
    yield ("unreadable",), len(members) - readable


def _disagreements(scene: Scene) -> Iterator[Sample]:
    counted = Counter(item.kind for item in scene.facts.fleet.disagreements)
    for kind in FactKind:
        yield (kind.replace(" ", "_"),), counted[kind]


FAMILIES: tuple[Family, ...] = (
    gauge("rocketns_brokers", "Addresses of brokers that are in the routes.", _brokers,
          {"state": "`live`; `late`: nothing heard for more than half of its time-out; `unconfirmed`: restored, or "
                    "silent together with many others, and not heard since"}),
    gauge("rocketns_broker_groups", "Broker names.", single(lambda s: len(s.facts.tables.broker_addr_table))),
    gauge("rocketns_clusters", "Clusters.", single(lambda s: len(s.facts.tables.cluster_addr_table))),
    gauge("rocketns_topics", "Topics with a route.", single(lambda s: len(s.facts.tables.topic_queue_table))),
    gauge(
        "rocketns_missing_topics",
        f"Topics without a route that clients asked for within the last hour, {TOPICS_MAX:,} at most. /api/v1/missing "
        "lists them.",
        single(lambda s: s.facts.missing_topics),
    ),
    gauge("rocketns_route_entries", "Pairs of a topic and a broker that has it.", single(lambda s: s.sizes.entries)),
    gauge("rocketns_routes_held", "Routes as `rocketns.routesMax` counts them.",
          single(lambda s: s.facts.tables.routes)),
    gauge("rocketns_route_bytes", "Memory of the routes.", _bytes,
          {"of": "`control`: dictionaries and names of the topic table; topics share their queue data, which are not "
                 "counted; `reactors`: the routes as they compose answers of them"}),
    counter("rocketns_route_entries_changed_total", "Pairs of a topic and a broker that changed.",
            lambda scene: [((change,), number) for change, number in scene.tally.entries.items()],
            {"change": "`put`: added or changed; `deleted`"}),
    counter("rocketns_brokers_gone_total", "Live brokers that were removed.",
            lambda scene: [((cause,), number) for cause, number in scene.tally.gone.items()],
            {"cause": "`unregister`: it unregistered; `expired`: silent for its time-out; `channel_close`, "
                      "`channel_exception`, `channel_idle`: its connection ended; `unconfirmed`: silent since the "
                      "start; `refused`: its address refuses connections; and the other causes of the journal"}),
    counter("rocketns_brokers_doubted_total", "Brokers that became unconfirmed while the server ran.",
            single(lambda s: s.tally.doubted)),
    counter("rocketns_min_broker_id_changes_total", "Changes of a group's smallest broker id.",
            single(lambda s: s.tally.min_broker_changes)),
    gauge("rocketns_fleet_name_servers", "This name server and those of `rocketns.peers`; 0 without peers.",
          _name_servers, {"state": "`readable`, or `unreadable`"}),
    gauge("rocketns_fleet_disagreements", "What the readable name servers disagree about. `rocketns diff` names it.",
          _disagreements, {"kind": "`broker`, `topic` or `order_configuration`"}),
    gauge("rocketns_kv_namespaces", "Namespaces of the KV table.", single(lambda s: len(s.facts.kv))),
    gauge("rocketns_kv_bytes", "Size of the KV table, as `rocketns.kvBytesMax` counts it.",
          single(lambda s: s.facts.kv_bytes)),
    counter("rocketns_kv_changes_total", "KV items that were put or deleted.", single(lambda s: s.tally.kv_changes)),
    counter("rocketns_config_changes_total", "Properties that request 318 or SIGHUP changed.",
            single(lambda s: s.tally.config_changes)),
)  # fmt: skip
