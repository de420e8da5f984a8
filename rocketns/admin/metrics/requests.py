"""Requests, lookups, registrations and heartbeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rocketns.admin.metrics.family import Family, MetricsScene, Sample, counter, histogram
from rocketns.protocol.codes import RequestCode, ResponseCode
from rocketns.server.control.measures import BOUNDS_S, Histogram

LOOKUP = RequestCode.GET_ROUTEINFO_BY_TOPIC
CODE = "the request code by Java's name; `other` for codes that a name server does not know"
RESULT = "the response code by Java's name; of a oneway request too, although it is not sent"
FOUND = "`found` or `missing`: whether the topic has a route"
CODES = {code.value: code.name for code in RequestCode}
RESULTS = {code.value: code.name for code in ResponseCode}


def names_of(code: int, result: int) -> tuple[str, str]:
    """The labels of a request and its answer."""
    return CODES.get(code, "other"), RESULTS.get(result, "other")


def _by_control(scene: MetricsScene) -> Iterator[tuple[tuple[str, str], Histogram]]:
    for (code, result), measured in list(scene.measures.requests.items()):
        yield names_of(code, result), measured


def _requests(scene: MetricsScene) -> Iterator[Sample]:
    counted = Counter({labels: sum(measured.counts) for labels, measured in _by_control(scene)})
    found, missing = scene.facts.reactors.lookups
    counted[names_of(LOOKUP, ResponseCode.SUCCESS)] += found
    counted[names_of(LOOKUP, ResponseCode.TOPIC_NOT_EXIST)] += missing
    yield from counted.items()


def _durations(scene: MetricsScene) -> Iterator[Sample]:
    yield from _by_control(scene)


def _lookups(scene: MetricsScene) -> Iterator[Sample]:
    found, missing = scene.facts.reactors.lookups
    yield ("reactors", "found"), found
    yield ("reactors", "missing"), missing
    results = {result: sum(m.counts) for (code, result), m in list(scene.measures.requests.items()) if code == LOOKUP}
    yield ("control", "found"), results.pop(ResponseCode.SUCCESS, 0)
    yield ("control", "missing"), results.pop(ResponseCode.TOPIC_NOT_EXIST, 0)
    yield ("control", "refused"), sum(results.values())


def _lookup_durations(scene: MetricsScene) -> Iterator[Sample]:
    for result, (counts, total_ns) in zip(("found", "missing"), scene.facts.reactors.latencies(), strict=False):
        measured = Histogram(BOUNDS_S)
        measured.counts, measured.total = counts, total_ns / 1e9
        yield (result,), measured


def _handed_over(scene: MetricsScene) -> Iterator[Sample]:
    yield (), scene.facts.transport.lookups_handed_over


def _admin(scene: MetricsScene) -> Iterator[Sample]:
    for (code, result), number in list(scene.tally.admin_requests.items()):
        yield names_of(code, result), number


def _decided(scene: MetricsScene) -> Iterator[Sample]:
    for (access, mode, reason, key), number in list(scene.facts.access_decisions.items()):
        yield (access.value, mode.word, reason, key), number


FAMILIES: tuple[Family, ...] = (
    counter("rocketns_requests_total", "Requests answered, by reactors and by control.", _requests,
            {"code": CODE, "result": RESULT}),
    histogram("rocketns_request_duration_seconds",
              "Time from the moment when control takes a request until its answer, with the wait for the disk and "
              "without the wait in the queue. Only requests that control answers.", _durations,
              {"code": CODE, "result": RESULT}),
    counter("rocketns_lookups_total", "Route lookups answered.", _lookups,
            {"by": "`reactors` or `control`", "result": FOUND + "; `refused`: any other answer"}),
    counter("rocketns_lookups_allowed_total",
            "Route lookups that reactors answered, and whose network may not look up: control has verified the "
            "signature of the same one before.", lambda scene: [((), scene.facts.reactors.signed_lookups)]),
    counter("rocketns_lookups_handed_over_total",
            "Route lookups that reactors gave to control, because they cannot compose the answer, or because an "
            "earlier request of the connection waits there.", _handed_over),
    histogram("rocketns_lookup_duration_seconds",
              "Time of lookups that reactors answer: from the moment when the socket is seen to be readable until the "
              "answer is given to the socket. A sample: about one in 64 rounds of a reactor's loop is measured.",
              _lookup_durations, {"result": FOUND}),
    counter("rocketns_registrations_total", "Broker registrations (103), by what they did.",
            lambda scene: [((result,), number) for result, number in scene.tally.registrations.items()],
            {"result": "`changed`: a broker, an address or topics; `unchanged`; `refused`: another broker has the id, "
                       "or the sender is not registered"}),
    counter("rocketns_registrations_repeated_total",
            "Registrations with the same body as the broker's last one. They are not decoded.",
            lambda scene: [((), scene.facts.registrations_repeated)]),
    counter("rocketns_tables_full_total",
            "Registrations (103) and requests 217 refused by `rocketns.routesMax`, `brokerRoutesMax` or `brokersMax`.",
            lambda scene: [((), scene.facts.registrations_refused)]),
    counter("rocketns_beyond_bounds_total",
            "Registrations (103) and requests 217 beyond `brokers_max`, `topics_max` or `bytes_max` of a principal.",
            lambda scene: [((mode,), number) for mode, number in scene.facts.registrations_beyond_bounds.items()],
            {"mode": "`enforce`: refused; `observe`: carried out"}),
    histogram("rocketns_broker_heartbeat_gap_seconds",
              "Time between two signs of life of a broker: registrations and heartbeats.",
              lambda scene: [((), scene.tally.gaps)]),
    counter("rocketns_admin_requests_total",
            "Requests of class admin that were processed: 100, 102, 205, 216, 318, 327. The journal and the log say "
            "who sent them, and what they changed. Repeated ones that changed nothing are counted after 10 s.", _admin,
            {"code": CODE, "result": RESULT}),
    counter("rocketns_access_decisions_total",
            "Requests that access control decided, where the mode of their class is not `off`. Lookups that reactors "
            "let pass are in rocketns_lookups_total.", _decided,
            {"class": "the class of the request: `lookup`, `read`, `broker`, `admin` …",
             "mode": "`enforce`: it was refused, if there is a reason; `observe`: it was answered",
             "reason": "why it was refused, or would have been, in one word; empty if it was allowed",
             "key": "the access key that it named, one of the policy; empty for none, `unknown` for all others"}),
)  # fmt: skip
