"""docs/metrics.md: every metric, made from what the code declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocketns.admin.metrics.catalogue import THEMES
from rocketns.admin.metrics.exposition import CUT, CUT_MEANING
from rocketns.admin.metrics.family import SERIES_MAX, Family
from rocketns.server.control.measures import BOUNDS_S
from tests.check.source import ROOT

PAGE = ROOT / "docs" / "metrics.md"

BOUNDS = ", ".join(f"{bound:g}" for bound in BOUNDS_S)
INTRODUCTION = f"""# Metrics

Made from the code by `python -m tests.check.metrics`; a test compares.
[operating.md](operating.md#management-port) says how to switch the management port on.

`GET /metrics` answers in Prometheus' text format, or in OpenMetrics where the scraper asks for it. Units are seconds
and bytes. Counters begin with 0 at the start of the process. Histograms of times have these upper bounds, in seconds:
{BOUNDS}.

No label has names of topics, brokers or clients, so the number of series does not grow with them. More than
{SERIES_MAX} series of one metric are left out, and `{CUT}` counts that. All who ask within a second get the same text.

What is counted costs the reactors nothing but the lookups that are measured, about one in 64. Counting begins at the
start of the server and only where `rocketns.adminPort` is set.
"""

PROCESS = """
## The process and Python

From the client library: `process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_virtual_memory_bytes`,
`process_start_time_seconds`, `process_open_fds`, `process_max_fds`, `python_info`, `python_gc_objects_collected_total`,
`python_gc_objects_uncollectable_total`, `python_gc_collections_total`.
"""

RUST = """
## Beside the Rust name server

The name server of rocketmq-rust 1.0 has 42 metrics, with milliseconds, microseconds and counts side by side. What
answers the same question here:

| rocketmq_namesrv_… | Here |
|---|---|
"""

# The Rust server's names, and what answers the same question.
BESIDE_RUST = (
    ("route_request_total, route_errors_total", "`rocketns_lookups_total`"),
    ("route_request_latency, route_stage_latency, route_end_to_end_latency", "`rocketns_lookup_duration_seconds`, "
     "`rocketns_request_duration_seconds`. There are no stages: a reactor's answer is one step"),
    ("requests_total, request_handler_latency", "`rocketns_requests_total`, `rocketns_request_duration_seconds`"),
    ("broker_registrations, registration_events_total, registration_dirty_topics",
     "`rocketns_registrations_total`, `rocketns_route_entries_changed_total`"),
    ("registration_decode_latency, mutation_latency",
     "`rocketns_request_duration_seconds` with code `REGISTER_BROKER`"),
    ("unregistration_events_total, expiry_events_total", "`rocketns_brokers_gone_total` by cause"),
    ("unregistration_queue_depth", "`rocketns_queue_length` with queue `unregistrations`"),
    ("unregistration_oldest_age, unregistration_batch_size, expiry_scan_duration, expiry_scan_brokers",
     "`rocketns_control_turn_duration_seconds`: unregistrations are applied in the turn that follows, and a slow turn "
     "or scan is logged with its length"),
    ("active_brokers", "`rocketns_brokers` by state"),
    ("active_connections, connection_events_total",
     "`rocketns_connections`, `rocketns_connections_opened_total`, `rocketns_connections_closed_total` by reason"),
    ("workload_admission_events_total, workload_admission_inflight, workload_admission_waiting",
     "`rocketns_requests_total` with result `SYSTEM_BUSY`, `rocketns_queue_length`"),
    ("route_response_write_errors_total, route_response_write_latency",
     "`rocketns_connections_closed_total` with reason `failed`; the write is part of "
     "`rocketns_lookup_duration_seconds`"),
    ("route_cache_bytes", "`rocketns_route_bytes`"),
    ("route_freshness, route_freshness_sampled_total, route_cache_events_total, snapshot_rebuilds_total",
     "None is needed: reactors read the routes themselves, and a change is shown to them before it is answered"),
    ("route_response_bytes, response_bytes, registration_body_bytes",
     "`rocketns_connection_bytes`, `rocketns_queue_bytes`: what waits. Sizes of single answers are not measured"),
    ("kv_events_total, kv_generation, kv_persist_latency, kv_batch_size",
     "`rocketns_kv_changes_total`, `rocketns_request_duration_seconds` with code `PUT_KV_CONFIG`, which contains the "
     "write"),
    ("kv_queue_depth, kv_queue_bytes", "`rocketns_queue_length` with queue `files`"),
    ("security_events_total (tls-reload)", "`rocketns_tls_reload_failures_total`, `rocketns_tls_handshakes_total`, "
     "`rocketns_tls_certificate_not_after_timestamp_seconds`"),
)  # fmt: skip

OPERATED = """
Probes, alerts and dashboards:

| rocketmq-rust | Here |
|---|---|
"""

# What else its operator has, and what there is here.
BESIDE_RUST_OPERATED = (
    ("`/livez`, `/readyz`, `/drainz`, `/metrics` on port 8088", "the same paths on `rocketns.adminPort`; `/metrics` in "
     "OpenMetrics too; `rocketns health` asks through the name server port"),
    ("alerts: target down", "`NameServerDown`, `NameServerNotReady`, `NoBrokers`"),
    ("alert: p99 of routes above 50 ms", "`LookupsSlow`"),
    ("alerts: rejecting; oldest unregistration above 5 s; fallback; expiry index", "`RequestsRefused`, `LimitReached`, "
     "`ControlSlow`, `NameServerStalls`: unregistrations have no fallback and expiries no index"),
    ("alerts: KV write failed, KV generation gap", "`FileNotWritten`. There are no generations: a request is answered "
     "when its change is written"),
    ("alert: TLS reload failed", "`TlsReloadFailed`, `CertificateEnds`"),
    ("alerts: cache above 64 MiB, resident memory above 4 GiB", "none: `rocketns_route_bytes` and "
     "`process_resident_memory_bytes` are there; the right bound is that of a fleet"),
    ("a dashboard", "`packaging/grafana`, each query run against a real Prometheus; and a status page at `/`"),
    ("none", "`BrokersLost`, `MassExpiry`, `BrokersUnconfirmed`, `HeartbeatsLate`, `NameServersDisagree`, "
     "`FleetDiffers`, `PeerUnreadable`, `JournalDropping`, `LookupsOfMissingTopics`; each rule has a test"),
)  # fmt: skip


def page() -> str:
    """The whole page."""
    themes = "".join(f"\n## {title}\n\n{_table(_rows(families))}\n" for title, families in THEMES.items())
    cut = f"`{CUT}` (counter): {CUT_MEANING}\n"
    rust = "\n".join(f"| {names} | {here} |" for names, here in BESIDE_RUST)
    operated = "\n".join(f"| {theirs} | {here} |" for theirs, here in BESIDE_RUST_OPERATED)
    return f"{INTRODUCTION}{themes}\n{cut}{PROCESS}{RUST}{rust}\n{OPERATED}{operated}\n"


def _rows(families: Iterable[Family]) -> Iterator[tuple[str, ...]]:
    for family in families:
        labels = "<br>".join(f"`{name}`: {values}" for name, values in family.labels.items())
        yield f"`{family.name}`", family.kind.value, family.meaning, labels


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = (("Metric", "Type", "Meaning", "Labels"), ("---",) * 4, *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
