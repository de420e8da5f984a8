"""Brokers, topics, and how they change; the journal, and what was restored from it; the build."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from rocketns import __version__
from rocketns.admin.metrics.family import Family, MetricsScene, Sample, counter, gauge, single
from rocketns.fleet.comparing import FactKind
from rocketns.routeinfo.tables import LATE_PERCENT
from rocketns.server.facts import JournalFacts
from rocketns.server.missing.asked import TOPICS_MAX


def _brokers(scene: MetricsScene) -> Iterator[Sample]:
    yield ("live",), scene.sizes.live
    yield ("late",), scene.sizes.late
    yield ("unconfirmed",), scene.sizes.unconfirmed


def _bytes(scene: MetricsScene) -> Iterator[Sample]:
    yield ("control",), scene.sizes.topic_bytes
    yield ("reactors",), scene.facts.slot_bytes


def _name_servers(scene: MetricsScene) -> Iterator[Sample]:
    members = scene.facts.fleet.members
    readable = sum(member.is_readable for member in members)
    yield ("readable",), readable
    yield ("unreadable",), len(members) - readable


def _disagreements(scene: MetricsScene) -> Iterator[Sample]:
    counted = Counter(item.kind for item in scene.facts.fleet.disagreements)
    for kind in FactKind:
        yield (kind.replace(" ", "_"),), counted[kind]


FAMILIES: tuple[Family, ...] = (
    gauge("rocketns_brokers", "Addresses of brokers that are in the routes.", _brokers,
          {"state": f"`live`; `late`: nothing heard for more than {LATE_PERCENT} % of its time-out; `unconfirmed`: "
                    "restored, or silent together with many others, and not heard since"}),
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
    counter("rocketns_view_lookups_total", "Route lookups of clients in a view that reactors answered.",
            lambda scene: [((view,), number) for view, number in scene.facts.lookups_of_views.items()],
            {"view": "its name, as in `rocketns.viewsFile`"}),
    counter("rocketns_route_entries_changed_total", "Pairs of a topic and a broker that changed.",
            lambda scene: [((change,), number) for change, number in scene.tally.entries.items()],
            {"change": "`put`: added or changed; `deleted`"}),
    counter("rocketns_brokers_gone_total", "Live brokers that were removed.",
            lambda scene: [((cause,), number) for cause, number in scene.tally.gone.items()],
            {"cause": "`unregister`: it unregistered; `expired`: silent for its time-out; `channel_close`, "
                      "`channel_exception`, `channel_idle`: its connection ended; `unconfirmed`: silent since the "
                      "start; `refused`: its address refuses connections; and the other causes of the journal"}),
    counter("rocketns_brokers_doubted_total", "Brokers that became unconfirmed while the server ran.",
            single(lambda s: s.tally.changes["doubted"])),
    counter("rocketns_min_broker_id_changes_total", "Changes of a group's smallest broker id.",
            single(lambda s: s.tally.changes["min_broker_id"])),
    gauge("rocketns_fleet_name_servers", "This name server and those of `rocketns.peers`; 0 without peers.",
          _name_servers, {"state": "`readable`, or `unreadable`"}),
    gauge("rocketns_fleet_disagreements", "What the readable name servers disagree about. `rocketns diff` names it.",
          _disagreements, {"kind": "`broker`, `topic` or `order_configuration`"}),
    gauge("rocketns_kv_namespaces", "Namespaces of the KV table.", single(lambda s: len(s.facts.kv))),
    gauge("rocketns_kv_bytes", "Size of the KV table, as `rocketns.kvBytesMax` counts it.",
          single(lambda s: s.facts.kv_bytes)),
    counter("rocketns_kv_changes_total", "KV items that were put or deleted.", single(lambda s: s.tally.changes["kv"])),
    counter("rocketns_config_changes_total", "Properties that request 318 or SIGHUP changed.",
            single(lambda s: s.tally.changes["config"])),
)  # fmt: skip


def _of_journal(read: Callable[[JournalFacts], float]) -> Callable[[MetricsScene], Iterable[Sample]]:
    """No sample without a journal."""
    return lambda s: [((), read(journal)) for journal in (s.facts.journal,) if journal is not None]


JOURNAL_FAMILIES: tuple[Family, ...] = (
    counter("rocketns_journal_records_total", "Records of the journal, also dropped ones. Absent without a journal.",
            _of_journal(lambda j: j.records)),
    counter("rocketns_journal_written_bytes_total", "Bytes that are on the disk.",
            _of_journal(lambda j: j.written_bytes)),
    gauge("rocketns_journal_waiting_bytes", "Bytes that are not on the disk yet.",
          _of_journal(lambda j: j.waiting_bytes)),
    counter("rocketns_journal_dropped_records_total", "Records that were lost because the buffer was full.",
            _of_journal(lambda j: j.lost)),
    counter("rocketns_journal_write_failures_total", "Attempts to write that failed. They are repeated.",
            _of_journal(lambda j: j.failures)),
    gauge("rocketns_journal_failing", "1 if the last attempt to write failed, otherwise 0.",
          _of_journal(lambda j: float(j.is_failing))),
    gauge("rocketns_restored_brokers", "Brokers that the start took from the journal or from another name server.",
          single(lambda s: s.facts.tables.filled)),
    gauge("rocketns_start_duration_seconds", "Time until the server answered, restoring included. 0 until then.",
          single(lambda s: s.facts.start_s)),
)  # fmt: skip


def _build(_: MetricsScene) -> Iterator[Sample]:
    yield (__version__, platform.python_version(), platform.machine()), 1


BUILD_FAMILIES: tuple[Family, ...] = (
    gauge("rocketns_build_info", "Always 1. The labels say what was built.", _build,
          {"version": "of rocketns", "python": "of Python", "machine": "the kind of processor"}),
)  # fmt: skip
