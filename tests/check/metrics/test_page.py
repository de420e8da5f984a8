"""docs/metrics.md is what the code declares, and the declarations keep Prometheus' rules of names."""

from __future__ import annotations

import re

import pytest

from rocketns.admin.metrics.catalogue import THEMES
from rocketns.admin.metrics.family import Family, MetricType
from tests.check.metrics.page import BESIDE_RUST, PAGE, page

FAMILIES = [family for families in THEMES.values() for family in families]
UNITS = ("_seconds", "_bytes", "_info")
# The instruments of rocketmq-rust 1.0.0's name server, without their prefix.
RUST = """
route_request_total route_errors_total broker_registrations route_freshness_sampled_total route_cache_events_total
workload_admission_events_total route_response_write_errors_total registration_events_total unregistration_events_total
requests_total snapshot_rebuilds_total expiry_events_total kv_events_total security_events_total connection_events_total
active_brokers active_connections route_cache_bytes workload_admission_inflight workload_admission_waiting
unregistration_queue_depth unregistration_oldest_age kv_generation kv_queue_depth kv_queue_bytes route_request_latency
route_freshness route_stage_latency route_response_write_latency route_end_to_end_latency expiry_scan_duration
request_handler_latency registration_decode_latency mutation_latency kv_persist_latency route_response_bytes
response_bytes registration_body_bytes registration_dirty_topics unregistration_batch_size expiry_scan_brokers
kv_batch_size
"""


def test_the_page_of_metrics_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), (
        "docs/metrics.md is not what the code declares. Next step: python -m tests.check.metrics"
    )


def test_no_name_is_taken_twice() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_name_keeps_prometheus_rules(family: Family) -> None:
    assert re.fullmatch(r"rocketns_[a-z0-9]+(_[a-z0-9]+)*", family.name)
    assert family.name.endswith("_total") == (family.kind is MetricType.COUNTER)
    if family.kind is MetricType.HISTOGRAM:
        assert family.name.endswith(UNITS)
    assert family.meaning.endswith(".")


def test_every_metric_of_the_rust_server_is_named_in_the_table() -> None:
    named = {word.strip() for names, _ in BESIDE_RUST for word in re.sub(r"\(.*?\)", "", names).split(",")}
    assert named == set(RUST.split())
    assert len(named) == 42
