"""Every metric in one table: its type, its name, its meaning, what its value is read from, and its labels. Before it,
what is counted for them: the events of mutations.

docs/monitoring.md is made of the table. Without labels a reader returns a number or a histogram, with labels such ones
by their values, and None for nothing. Readers are for the management port's thread.
"""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from rocketns import __version__
from rocketns._fast.connections.connection import Ending
from rocketns.admin.tokens import AdminGate, TokenRefusal
from rocketns.admin.view import ControlView
from rocketns.config import Limits, properties
from rocketns.fleet.comparing import FactKind
from rocketns.processor.context import Now
from rocketns.protocol.codes import RequestCode, ResponseCode
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import LATE_PERCENT
from rocketns.server.control.measures import BOUNDS_S, Histogram, Measures
from rocketns.server.facts import Facts, JournalFacts
from rocketns.server.missing import TOPICS_MAX

# Brokers send a heartbeat each second or register every 30 s, at most every 60 s. They expire after 120 s.
GAP_BOUNDS_S = (1.5, 5.0, 10.0, 20.0, 35.0, 45.0, 65.0, 90.0, 120.0, 300.0)


class Tally:
    """Control writes, any thread reads."""

    def __init__(self) -> None:
        self.registrations = Counter(changed=0, unchanged=0, refused=0)
        self.gone = Counter({str(cause): 0 for cause in e.Cause})
        self.entries = Counter(put=0, deleted=0)
        self.changes = Counter(doubted=0, stalls=0, stalled_ms=0)
        self.admin_requests: Counter[tuple[int, int]] = Counter()  # code and result
        self.gaps = Histogram(GAP_BOUNDS_S)

    def note(self, events: list[e.Event], _: Now) -> None:
        """Control only. The events of one mutation."""
        for event in events:
            if isinstance(event, e.BrokerRegistered | e.BrokerHeartbeat):
                if event.gap_ms is not None:
                    self.gaps.observe(event.gap_ms / 1000)
            elif type(event) in COUNTED:
                COUNTED[type(event)](self, event)
        if any(isinstance(event, e.BrokerRegistered) for event in events):
            is_same = all(_is_heartbeat(event) for event in events)
            self.registrations["unchanged" if is_same else "changed"] += 1


# What each event adds. Those that are not here have no metric, or one that is read where they are found.
COUNTED: dict[type, Callable[[Tally, Any], None]] = {
    e.BrokerConflict: lambda tally, _: tally.registrations.update(refused=1),
    e.BrokerRefused: lambda tally, _: tally.registrations.update(refused=1),
    e.BrokerDown: lambda tally, event: tally.gone.update({str(event.cause): int(event.live)}),
    e.BrokerDoubted: lambda tally, _: tally.changes.update(doubted=1),
    e.TopicsPut: lambda tally, event: tally.entries.update(put=len(event.changes)),
    e.TopicsDeleted: lambda tally, event: tally.entries.update(deleted=len(event.topics)),
    e.Stalled: lambda tally, event: tally.changes.update(stalls=1, stalled_ms=event.ms),
    e.AdminRequested: lambda tally, event: tally.admin_requests.update({(event.code, event.result): event.count}),
}


def _is_heartbeat(event: e.Event) -> bool:
    """Whether a registration with no other events changed nothing: the broker was known and confirmed."""
    return isinstance(event, e.BrokerRegistered) and event.gap_ms is not None and event.doubt is None


@dataclass(frozen=True, slots=True)
class MetricsScene:
    """All sources. ``brokers``: how many are in each state, a copy; the others are read as they are now."""

    view: ControlView
    facts: Facts
    gate: AdminGate
    measures: Measures
    tally: Tally
    brokers: Mapping[str, int]


Value = float | Histogram
# By the value of the only label, or by a tuple of those of all labels in their order.
Labelled = Mapping[Any, Value]
Read = Callable[[MetricsScene], Value | Labelled | None]


class Family(NamedTuple):
    """``labels``: the name of each label, and what its values are. The name of a counter ends in ``_total``."""

    kind: str
    name: str
    meaning: str
    read: Read
    labels: Mapping[str, str] = {}


counter, gauge, histogram = (partial(Family, kind) for kind in ("counter", "gauge", "histogram"))


CODES = {code.value: code.name for code in RequestCode}
RESULTS = {code.value: code.name for code in ResponseCode}
FOUND, MISSING = ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST


def _names(code: int, result: int) -> tuple[str, str]:
    """The labels of a request and its answer."""
    return CODES.get(code, "other"), RESULTS.get(result, "other")


def _durations(s: MetricsScene) -> Labelled:
    return {_names(*one): measured for one, measured in list(s.measures.requests.items())}


def _requests(s: MetricsScene) -> Labelled:
    counted = Counter[tuple[str, ...]]()
    for one, measured in list(s.measures.requests.items()):
        counted[_names(*one)] += sum(measured.counts)
    for result, number in zip((FOUND, MISSING), s.facts.reactors.lookups, strict=True):
        counted[_names(RequestCode.GET_ROUTEINFO_BY_TOPIC, result)] += number
    return dict(counted)


def _lookups(s: MetricsScene) -> Labelled:
    found, missing = s.facts.reactors.lookups
    control = {result: sum(measured.counts) for (code, result), measured in list(s.measures.requests.items())
               if code == RequestCode.GET_ROUTEINFO_BY_TOPIC}  # fmt: skip
    return {("reactors", "found"): found, ("reactors", "missing"): missing,
            ("control", "found"): control.pop(FOUND, 0), ("control", "missing"): control.pop(MISSING, 0),
            ("control", "refused"): sum(control.values())}  # fmt: skip


def _lookup_durations(s: MetricsScene) -> Labelled:
    made: dict[str, Value] = {}
    for result, (counts, total_ns) in zip(("found", "missing"), s.facts.reactors.latencies(), strict=False):
        made[result] = measured = Histogram(BOUNDS_S)
        measured.counts, measured.total = counts, total_ns / 1e9
    return made


CLOSED = {
    Ending.PEER_CLOSED: "peer",
    Ending.FAILED: "failed",
    Ending.IDLE: "idle",
    Ending.MALFORMED_FRAME: "malformed_frame",
    Ending.TOO_MUCH_UNSENT: "outgoing_bytes_max",
    Ending.TOO_MUCH_UNFINISHED: "incoming_bytes_max",
    Ending.TOO_MUCH_UNSENT_IN_ALL: "outgoing_bytes_total_max",
    Ending.STALLED_FRAME: "progress_seconds",
    Ending.STALLED_ANSWERS: "progress_seconds",
    Ending.STALLED_HANDSHAKE: "progress_seconds",
    Ending.STRANGER: "stranger",
    Ending.UNTRUSTED_PROXY: "untrusted_proxy",
}


def _closed(s: MetricsScene) -> Labelled:
    reactors = s.facts.reactors
    counted = Counter(dict.fromkeys((*CLOSED.values(), "server"), 0))
    for ending, number in list(s.facts.transport.endings.items()):
        counted[CLOSED.get(Ending(ending), "server")] += number
    # Of strangers also those that were closed before they count as connections.
    return dict(counted) | {"connections_max": reactors.turned_away, "stranger": reactors.strangers_closed,
                            "host_connections_per_second": reactors.hosts.refused[1]}  # fmt: skip


def _transports(of_all: int, with_tls: int) -> Labelled:
    return {"plain": max(0, of_all - with_tls), "tls": with_tls}


def _name_servers(s: MetricsScene) -> Labelled:
    members = s.facts.fleet.members
    readable = sum(member.is_readable for member in members)
    return {"readable": readable, "unreadable": len(members) - readable}


def _disagreements(s: MetricsScene) -> Labelled:
    counted = Counter(one.kind for one in s.facts.fleet.disagreements)
    return {kind.replace(" ", "_"): counted[kind] for kind in FactKind}


def _certificate(s: MetricsScene) -> float | None:
    ends_s = s.facts.tls.certificate_ends_s
    return ends_s if ends_s is not None and math.isfinite(ends_s) else None


def _journal(read: Callable[[JournalFacts], float]) -> Read:
    return lambda s: None if s.facts.journal is None else read(s.facts.journal)


def _limits(s: MetricsScene) -> Labelled:
    limits = s.facts.configuration.limits
    return {name: getattr(limits, one.name) for name, one in properties.declared(Limits).items()}


ANSWERED = {"code": "the request by Java's name, or `other`", "result": "the answer by Java's name, or `other`"}
LOOKED_UP = {"result": "`found` or `missing`: whether the topic has a route"}
TRANSPORT = {"transport": "`plain` or `tls`"}
SHAKEN = {"result": "`succeeded` or `failed`"}

THEMES: dict[str, tuple[Family, ...]] = {
    "Requests": (
        counter("rocketns_requests_total", "Requests answered, by reactors and by control. Of a oneway request the "
                "answer that is not sent counts.", _requests, ANSWERED),
        histogram("rocketns_request_duration_seconds", "Time of requests that control answers: with the wait for the "
                  "disk, without the wait in the queue.", _durations, ANSWERED),
        counter("rocketns_lookups_total", "Route lookups answered.", _lookups,
                {"by": "`reactors` or `control`", "result": "`found`, `missing`, or at control `refused`"}),
        counter("rocketns_lookups_allowed_total", "Route lookups that reactors answered for their signature, which "
                "control had verified before.", lambda s: s.facts.reactors.signed_lookups),
        histogram("rocketns_lookup_duration_seconds", "Time of lookups at reactors, from a readable socket until the "
                  "answer is given to it: of about one round of a reactor's loop in 64.", _lookup_durations, LOOKED_UP),
        counter("rocketns_registrations_total", "Broker registrations (103), by what they did.",
                lambda s: dict(s.tally.registrations),
                {"result": "`changed`, `unchanged`, or `refused`: its id is another's, or it is not registered"}),
        counter("rocketns_tables_full_total", "Registrations (103) and requests 217 refused by `rocketns.routesMax`, "
                "`brokerRoutesMax` or `brokersMax`.", lambda s: s.facts.context.refusals.count),
        counter("rocketns_beyond_bounds_total", "Registrations (103) and requests 217 beyond `brokers_max`, "
                "`topics_max` or `bytes_max` of a principal.",
                lambda s: {"enforce": s.facts.context.beyond_bounds.count,
                           "observe": s.facts.context.observed_beyond_bounds.count},
                {"mode": "`enforce`: refused; `observe`: carried out"}),
        histogram("rocketns_broker_heartbeat_gap_seconds",
                  "Time between two signs of life of a broker: registrations and heartbeats.", lambda s: s.tally.gaps),
        counter("rocketns_admin_requests_total", "Requests of class admin: 100, 102, 205, 216, 318, 327. Repeated ones "
                "that changed nothing are counted after 10 s.",
                lambda s: {_names(*one): number for one, number in list(s.tally.admin_requests.items())}, ANSWERED),
        counter("rocketns_access_decisions_total", "Requests that access control decided. Those that reactors let pass "
                "are in rocketns_lookups_total.",
                lambda s: {(access.value, mode.value, reason, key): number for (access, mode, reason, key), number
                           in list(s.facts.context.guard.decisions.items())},
                {"class": "of the request: `lookup`, `read`, `broker`, `admin` …",
                 "mode": "`enforce`: refused, if there is a reason; `observe`: answered",
                 "reason": "why it was refused, or would have been, in one word; empty if it was allowed",
                 "key": "the access key, one of the policy; empty for none, `unknown` for all others"}),
    ),
    "Brokers, topics and settings": (
        gauge("rocketns_brokers", "Addresses of brokers that are in the routes.",
              lambda s: {one: s.brokers[one] for one in ("live", "late", "unconfirmed")},
              {"state": f"`live`; `late`: silent for more than {LATE_PERCENT} % of its time-out; `unconfirmed`: "
                        "restored, or silent together with many others, and not heard since"}),
        gauge("rocketns_broker_groups", "Broker names.", lambda s: len(s.facts.tables.broker_addr_table)),
        gauge("rocketns_clusters", "Clusters.", lambda s: len(s.facts.tables.cluster_addr_table)),
        gauge("rocketns_topics", "Topics with a route.", lambda s: len(s.facts.tables.topic_queue_table)),
        gauge("rocketns_missing_topics", "Topics without a route that clients asked for within the last hour, "
              f"{TOPICS_MAX:,} at most: see `/api/v1/missing`.", lambda s: s.facts.asked.missing),
        gauge("rocketns_routes_held", "Routes as `rocketns.routesMax` counts them: pairs of a topic and a broker that "
              "has it, and what mappings and filter servers count.", lambda s: s.facts.tables.routes),
        gauge("rocketns_route_bytes", "Memory of the routes.", lambda s: {"reactors": s.facts.slots.memory_bytes},
              {"of": "`reactors`: what they compose answers of"}),
        counter("rocketns_view_lookups_total", "Route lookups of clients in a view that reactors answered.",
                lambda s: dict(s.facts.lookups_of_views), {"view": "its name, as in `rocketns.viewsFile`"}),
        counter("rocketns_route_entries_changed_total", "Pairs of a topic and a broker that changed.",
                lambda s: dict(s.tally.entries), {"change": "`put`: added or changed; `deleted`"}),
        counter("rocketns_brokers_gone_total", "Live brokers that were removed.", lambda s: dict(s.tally.gone),
                {"cause": "as in the journal: `unregister`; `expired`: silent for its time-out; `channel_close`, "
                          "`channel_exception`, `channel_idle`: its connection ended; `unconfirmed`; `refused` …"}),
        counter("rocketns_brokers_doubted_total", "Brokers that became unconfirmed while the server ran.",
                lambda s: s.tally.changes["doubted"]),
        gauge("rocketns_fleet_name_servers", "This name server and those of `rocketns.peers`; 0 without peers.",
              _name_servers, {"state": "`readable`, or `unreadable`"}),
        gauge("rocketns_fleet_disagreements", "What the readable name servers disagree about: see `rocketns diff`.",
              _disagreements, {"kind": "`broker`, `topic` or `order_configuration`"}),
        gauge("rocketns_kv_bytes", "The KV table as `rocketns.kvBytesMax` counts it.",
              lambda s: s.facts.context.kv_config.bytes),
    ),
    "Connections and limits": (
        gauge("rocketns_connections", "Open connections.",
              lambda s: _transports(s.facts.reactors.connections, s.facts.transport.open_with_tls), TRANSPORT),
        counter("rocketns_connections_opened_total", "Connections opened. One that never sent a byte does not count.",
                lambda s: _transports(s.facts.transport.opened_total, s.facts.transport.opened_with_tls), TRANSPORT),
        counter("rocketns_connections_closed_total", "Connections closed, by the reason.", _closed,
                {"reason": "`peer`; `failed`; `idle`; `malformed_frame`; `stranger`: no network of the access policy "
                 "has its address; `untrusted_proxy`: a PROXY header from an address that is not in "
                 "rocketns.trustedProxies; `server`: its broker expired, TLS failed, or the server stops; otherwise "
                 "the limit that was reached"}),
        counter("rocketns_beyond_rates_total", "What was refused because its host made too much of it in a second.",
                lambda s: dict(zip(("host_requests_per_second", "host_connections_per_second"),
                                   s.facts.reactors.hosts.refused, strict=True)),
                {"reason": "`host_requests_per_second`: answered SYSTEM_BUSY, or not at all if oneway; "
                           "`host_connections_per_second`: closed at once"}),
        gauge("rocketns_connection_bytes", "Bytes that connections hold.",
              lambda s: {"incoming": s.facts.reactors.incoming_bytes, "outgoing": s.facts.reactors.outgoing_bytes},
              {"direction": "`incoming`: unfinished or waiting frames, and OpenSSL's memory; `outgoing`: answers that "
                            "peers have not taken"}),
        gauge("rocketns_limit", "The limits in force, to compare with what they limit.", _limits,
              {"limit": "the property `rocketns.…` of that name"}),
        counter("rocketns_tls_handshakes_total", "TLS handshakes that ended.",
                lambda s: dict(zip(("succeeded", "failed"), s.facts.reactors.handshakes, strict=False)), SHAKEN),
        counter("rocketns_tls_handshake_seconds_total", "Time spent on TLS handshakes, unfinished ones included.",
                lambda s: s.facts.reactors.handshakes[2] / 1e9),
        gauge("rocketns_tls_certificate_not_after_timestamp_seconds",
              "When the certificate in use ends, in seconds since 1970. Absent until TLS is used.", _certificate),
        counter("rocketns_tls_reload_failures_total", "Failed reads of TLS files. The former ones stay in use.",
                lambda s: s.facts.tls.load_failures),
        gauge("rocketns_admin_connections", "Open connections of the management port.", lambda s: s.gate.connections),
        counter("rocketns_admin_connections_closed_total", "Connections that the management port closed itself.",
                lambda s: {"late": s.gate.closed_late, "full": s.gate.closed_full, "unread": s.gate.closed_unread},
                {"reason": "`late`: it took too long; `full`: there were too many; `unread`: too many bytes of answers "
                           "were not taken. The host that has the most loses one"}),
        counter("rocketns_admin_requests_refused_total", "Requests that the management port refused for their token.",
                lambda s: {one: 0 if s.gate.access is None else s.gate.access.refused[one] for one in TokenRefusal},
                {"reason": "`no_token`; `wrong_token`; `wrong_class`: it lacks the class of the path"}),
        counter("rocketns_admin_tokens_reload_failures_total", "Failed reads of `rocketns.adminTokensFile`.",
                lambda s: 0 if s.gate.access is None else s.gate.access.failures),
        counter("rocketns_admin_tls_handshakes_total", "TLS handshakes of the management port that ended.",
                lambda s: {one: 0 if s.gate.tls is None else getattr(s.gate.tls, one)
                           for one in ("succeeded", "failed")}, SHAKEN),
    ),
    "The control thread": (
        histogram("rocketns_control_turn_duration_seconds",
                  "Length of a turn of the control thread, in which it answers requests.", lambda s: s.measures.turns),
        counter("rocketns_control_slow_turns_total", "Turns of 0.1 s and more. The log says what took the time.",
                lambda s: s.facts.control.slow_turns.count),
        gauge("rocketns_control_idle_seconds", "Time since the control thread ran last. It runs every 0.25 s.",
              lambda s: s.view.idle_s),
        counter("rocketns_stalls_total", "Times that the process or its control thread did not run for 1 s or more.",
                lambda s: s.tally.changes["stalls"]),
        counter("rocketns_stalled_seconds_total", "Total length of these times, at most.",
                lambda s: s.tally.changes["stalled_ms"] / 1000),
        gauge("rocketns_queue_length", "Entries that wait.",
              lambda s: {"requests": s.facts.control.waiting_requests,
                         "unregistrations": len(s.facts.context.unregister_queue),
                         "files": s.facts.writer.unwritten, "log": 0 if s.view.log is None else s.view.log.waiting},
              {"queue": "`requests` for control; `unregistrations`; `files`: changed KV and properties; `log`: lines"}),
        counter("rocketns_file_write_failures_total", "Failed writes of the KV or configuration file. The next change "
                "writes the whole file.", lambda s: s.facts.writer.failures),
        gauge("rocketns_queue_bytes", "Bytes that wait.",
              lambda s: {"requests": s.facts.control.waiting_bytes, "reactors": s.facts.reactors.queued_bytes},
              {"queue": "`requests` at control; `reactors`: frames from reactors that control has not decoded"}),
        counter("rocketns_log_dropped_records_total", "Log lines dropped because the log's reader is slow.",
                lambda s: 0 if s.view.log is None else s.view.log.dropped_total),
        gauge("rocketns_ready", "1 if `/readyz` says ready, otherwise 0.", lambda s: s.facts.why_not_ready() is None),
        gauge("rocketns_draining", "1 in a drain or a graceful shutdown, otherwise 0.",
              lambda s: s.facts.context.going_away),
    ),
    "The journal and the start": (
        counter("rocketns_journal_records_total", "Records of the journal, also dropped ones. Absent without one.",
                _journal(lambda j: j.records)),
        counter("rocketns_journal_written_bytes_total", "Bytes on the disk.", _journal(lambda j: j.written_bytes)),
        gauge("rocketns_journal_waiting_bytes", "Bytes not on the disk yet.", _journal(lambda j: j.waiting_bytes)),
        counter("rocketns_journal_dropped_records_total", "Records lost by a full buffer.", _journal(lambda j: j.lost)),
        counter("rocketns_journal_write_failures_total", "Attempts to write that failed. They are repeated.",
                _journal(lambda j: j.failures)),
        gauge("rocketns_journal_failing", "1 if the last attempt to write failed, otherwise 0.",
              _journal(lambda j: bool(j.failure))),
        gauge("rocketns_restored_brokers", "Brokers that the start took from the journal or from another name server.",
              lambda s: s.facts.tables.filled),
        gauge("rocketns_start_duration_seconds", "Time until the server answered, restoring included. 0 until then.",
              lambda s: s.facts.stalls.start_s),
    ),
    "The build": (
        gauge("rocketns_build_info", "Always 1. The labels say what was built.",
              lambda _: {(__version__, platform.python_version(), platform.machine()): 1},
              {"version": "of rocketns", "python": "of Python", "machine": "the kind of processor"}),
    ),
}  # fmt: skip
