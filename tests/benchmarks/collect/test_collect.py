"""The benchmark of collecting: what its relay counts, what it measures, and its page."""

from __future__ import annotations

from pathlib import Path

from benchmarks.collect.counting import Counting
from benchmarks.collect.fleets import filled
from benchmarks.collect.measuring import measured
from benchmarks.collect.page import page
from benchmarks.loading.brokers import Shape
from benchmarks.loading.registrations import topic
from benchmarks.servers.kinds import DEFAULT
from interop.harness import codes
from interop.harness.wire import Client, eventually

SHAPE = Shape(3, 20, 3)
SPAN = {"what": "round 1", "took_s": 10.0, "server_cpu_s": 2.0, "collect_cpu_s": 3.0, "collect_mb": 80.0,
        "highest_mb": 90.0, "lookups": 500, "other_requests": 5, "answered_bytes": 30_000_000,
        "journal_bytes": 12_345}  # fmt: skip
RESULT = {
    "when": "now", "busy": "", "brokers": 3, "topics": 20, "width": 3, "failed": [],
    "machine": {"command": "c", "commit": "x", "cores": 2, "processor": "p", "Python": "3", "load average before": "0"},
    "alone": {"seconds": 10.0, "server_cpu_s": 0.05},
    "measured": [{"name_servers": 3, "per_second": 50.0, "spans": [SPAN], "asked": {"105": 500, "106": 5},
                  "connections": [1, 1, 1]}],
}  # fmt: skip


def test_the_relay_counts_requests_of_both_headers_bytes_and_rounds(tmp_path: Path) -> None:
    with filled(1, SHAPE, tmp_path, (DEFAULT,)) as fleet:
        relay = Counting(fleet[0].server.port, topics=2)
        with Client(relay.port) as client:
            for name in (topic(0), topic(0), topic(1), topic(0)):
                asked = {"topic": name, "acceptStandardJsonOnly": "true"}
                client.request(codes.GET_ROUTEINFO_BY_TOPIC, asked, binary=name == topic(0))
            body = client.request(codes.GET_BROKER_CLUSTER_INFO).body
        # It counts a request behind passing it on.
        eventually(lambda: relay.asked == {codes.GET_ROUTEINFO_BY_TOPIC: 4, codes.GET_BROKER_CLUSTER_INFO: 1})
        assert (len(relay.rounds_s), relay.connections) == (1, 1)
        assert relay.answered_bytes > len(body or b"")
        relay.close()


def test_a_collector_is_measured_from_the_first_round_to_the_return_of_a_broker(tmp_path: Path) -> None:
    with filled(2, SHAPE, tmp_path / "fleet", (DEFAULT, DEFAULT)) as fleet:
        found = measured(fleet, SHAPE, 200.0, 0.0, tmp_path / "collect")
    assert [span["what"] for span in found["spans"]] == [
        "the first round: everything is read", "nothing changes", "a broker of all topics unregisters",
        "it registers again",
    ]  # fmt: skip
    first = found["spans"][0]
    assert first["lookups"] >= SHAPE.topics
    assert first["collect_cpu_s"] > 0
    assert first["highest_mb"] >= first["collect_mb"] > 10
    assert found["asked"]["105"] >= 2 * SHAPE.topics
    assert found["connections"] == [1, 1]


def test_the_page_has_what_happens_in_a_second_and_the_cost_of_a_lookup() -> None:
    text = page(RESULT)
    assert "used 0.005 s of CPU a second" in text
    assert "## 3 name servers, 50 requests a second each" in text
    assert "| round 1 | 10.0 | 50.0 | 0.50 | 3.00 | 0.200 | 0.300 | 4.00 | 2.00 | 80.0 | 90.0 | 12.3 |" in text
    assert "**The machine was busy" not in text
    assert "**Failed:** it ended" in page(RESULT | {"failed": ["it ended"]})
