"""Connections, the bytes that they hold, TLS, and the limits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from rocketns._fast.connections.connection import Ending
from rocketns.admin.metrics.family import Family, MetricsScene, Sample, counter, gauge, single
from rocketns.admin.tokens import TokenRefusal
from rocketns.config import Limits, properties

REASONS = {
    Ending.PEER_CLOSED: "peer",
    Ending.FAILED: "failed",
    Ending.IDLE: "idle",
    Ending.MALFORMED_FRAME: "malformed_frame",
    Ending.ENDED: "server",
    Ending.TOO_MUCH_UNSENT: "outgoing_bytes_max",
    Ending.TOO_MUCH_UNFINISHED: "incoming_bytes_max",
    Ending.TOO_MUCH_UNSENT_IN_ALL: "outgoing_bytes_total_max",
    Ending.STALLED_FRAME: "progress_seconds",
    Ending.STALLED_ANSWERS: "progress_seconds",
    Ending.STRANGER: "stranger",
    Ending.TLS_FAILED: "server",
    Ending.TLS_DISABLED: "server",
    Ending.NOT_TLS: "server",
    Ending.NO_CERTIFICATE: "server",
    Ending.STALLED_HANDSHAKE: "progress_seconds",
    Ending.UNTRUSTED_PROXY: "untrusted_proxy",
    Ending.WRONG_PROXY_HEADER: "server",
}
TRANSPORT = {"transport": "`plain` or `tls`"}


def _connections(scene: MetricsScene) -> Iterator[Sample]:
    with_tls = scene.facts.transport.open_with_tls
    yield ("plain",), max(0, scene.facts.reactors.connections - with_tls)
    yield ("tls",), with_tls


def _opened(scene: MetricsScene) -> Iterator[Sample]:
    transport = scene.facts.transport
    yield ("plain",), transport.opened_total - transport.opened_with_tls
    yield ("tls",), transport.opened_with_tls


def _closed(scene: MetricsScene) -> Iterator[Sample]:
    reactors = scene.facts.reactors
    counted = Counter(dict.fromkeys(REASONS.values(), 0))
    for ending, number in list(scene.facts.transport.endings.items()):
        counted[REASONS[Ending(ending)]] += number
    counted["connections_max"] = reactors.turned_away
    counted["stranger"] = reactors.strangers_closed  # with those closed before they count as connections
    counted["host_connections_per_second"] = reactors.hosts.refused_connections
    yield from (((reason,), number) for reason, number in counted.items())


def _held(scene: MetricsScene) -> Iterator[Sample]:
    yield ("incoming",), scene.facts.reactors.incoming_bytes
    yield ("outgoing",), scene.facts.reactors.outgoing_bytes


def _beyond_rates(scene: MetricsScene) -> Iterator[Sample]:
    rates = scene.facts.reactors.hosts
    yield ("host_requests_per_second",), rates.refused_requests
    yield ("host_connections_per_second",), rates.refused_connections


def _limits(scene: MetricsScene) -> Iterator[Sample]:
    limits = scene.facts.configuration.limits
    for name, declaration in properties.declared(Limits).items():
        yield (name,), getattr(limits, declaration.name)


def _handshakes(scene: MetricsScene) -> Iterator[Sample]:
    succeeded, failed, _ = scene.facts.reactors.handshakes
    yield ("succeeded",), succeeded
    yield ("failed",), failed


def _certificate(scene: MetricsScene) -> Iterator[Sample]:
    ends_s = scene.facts.certificate_ends_s
    if ends_s is not None and math.isfinite(ends_s):
        yield (), ends_s


def _refused(scene: MetricsScene) -> Iterator[Sample]:
    access = scene.gate.access
    yield from (((reason,), 0 if access is None else access.refused[reason]) for reason in TokenRefusal)


def _port_handshakes(scene: MetricsScene) -> Iterator[Sample]:
    tls = scene.gate.tls
    yield ("succeeded",), 0 if tls is None else tls.handshakes.succeeded
    yield ("failed",), 0 if tls is None else tls.handshakes.failed


FAMILIES: tuple[Family, ...] = (
    gauge("rocketns_connections", "Open connections.", _connections, TRANSPORT),
    counter("rocketns_connections_opened_total", "Connections opened. One that never sent a byte does not count.",
            _opened, TRANSPORT),
    counter(
        "rocketns_connections_closed_total", "Connections closed, by the reason.", _closed,
        {"reason": "`peer`: the peer closed it; `failed`: it broke; `idle`; `malformed_frame`; `stranger`: no "
         "network of the access policy has its address; `untrusted_proxy`: a PROXY header from an address that is not "
         "in rocketns.trustedProxies; `server`: its broker expired, TLS failed, or the server stops; otherwise the "
         "limit that was reached"},
    ),
    counter(
        "rocketns_beyond_rates_total", "What was refused because its host made too much of it in a second.",
        _beyond_rates,
        {"reason": "the property `rocketns.…` of that name: `host_requests_per_second`: requests answered SYSTEM_BUSY, "
         "or not at all if they were oneway; `host_connections_per_second`: connections closed at once"},
    ),
    gauge("rocketns_connection_bytes", "Bytes that connections hold.", _held,
          {"direction": "`incoming`: unfinished or waiting frames, and OpenSSL's memory; `outgoing`: answers that "
           "peers have not taken"}),
    gauge("rocketns_limit", "The limits in force, to compare with what they limit.", _limits,
          {"limit": "the property `rocketns.…` of that name"}),
    counter("rocketns_tls_handshakes_total", "TLS handshakes that ended.", _handshakes,
            {"result": "`succeeded` or `failed`"}),
    counter("rocketns_tls_handshake_seconds_total",
            "Time spent on TLS handshakes, unfinished ones included.",
            single(lambda s: s.facts.reactors.handshakes[2] / 1e9)),
    gauge("rocketns_tls_certificate_not_after_timestamp_seconds",
          "When the certificate in use ends, in seconds since 1970. Absent until TLS is used.", _certificate),
    counter("rocketns_tls_reload_failures_total", "Failed reads of TLS files. The former ones stay in use.",
            single(lambda s: s.facts.tls_load_failures)),
    gauge("rocketns_admin_connections", "Open connections of the management port.",
          single(lambda s: s.gate.connections)),
    counter(
        "rocketns_admin_connections_closed_total", "Connections of the management port that it closed itself.",
        lambda s: [(("late",), s.gate.closed_late), (("full",), s.gate.closed_full),
                   (("unread",), s.gate.closed_unread)],
        {"reason": "`late`: it took too long; `full`: there were too many, and it was the oldest of the host "
         "that had the most; `unread`: answers that peers did not take were too large together, and it had the most of "
         "that host"},
    ),
    counter("rocketns_admin_requests_refused_total", "Requests that the management port refused for their token.",
            _refused, {"reason": "`no_token`; `wrong_token`: it is not in `rocketns.adminTokensFile`; `wrong_class`: "
                       "it is, without the class of the path"}),
    counter("rocketns_admin_tokens_reload_failures_total",
            "Failed reads of `rocketns.adminTokensFile`. The former tokens stay in force.",
            single(lambda s: 0 if s.gate.access is None else s.gate.access.file.failures)),
    counter("rocketns_admin_tls_handshakes_total", "TLS handshakes of the management port that ended.",
            _port_handshakes, {"result": "`succeeded` or `failed`"}),
)  # fmt: skip
