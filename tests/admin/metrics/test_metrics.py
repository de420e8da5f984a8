"""What a scrape shows after requests over the wire."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import eventually
from rocketns.admin.metrics import exposition
from rocketns.admin.metrics.family import LABEL_CHARACTERS_MAX, SERIES_MAX, counter
from tests.admin.conftest import Managed
from tests.admin.scraping import Scraped
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered
from tests.behaviour.views import ask_route
from tests.support.tlsclient import TlsClient
from tests.timed.steps import pass_time

Scrape = Callable[[], Scraped]

OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


pytestmark = pytest.mark.usefixtures("no_old_numbers")


@pytest.fixture
def scrape(managed: Managed) -> Scrape:
    return managed.scrape


def test_lookups_are_counted_by_who_answered_and_by_result(managed: Managed, scrape: Scrape, names: Names) -> None:
    with managed.connect() as client:
        registered(client, names)
        for _ in range(5):
            ask_route(client, names.topic("T"))
        ask_route(client, "no such topic")
        seen = scrape()
        assert seen("rocketns_lookups_total", by="reactors", result="found") == 5
        assert seen("rocketns_lookups_total", by="reactors", result="missing") == 1
        assert seen("rocketns_requests_total", code="GET_ROUTEINFO_BY_TOPIC", result="SUCCESS") == 5
        assert seen("rocketns_requests_total", code="GET_ROUTEINFO_BY_TOPIC", result="TOPIC_NOT_EXIST") == 1
        assert seen("rocketns_requests_total", code="REGISTER_BROKER", result="SUCCESS") == 1


def test_admin_requests_are_counted_by_code_and_result(managed: Managed, scrape: Scrape) -> None:
    with managed.connect() as client:
        for _ in range(3):
            client.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "nope"})
        client.request(codes.PUT_KV_CONFIG, {"key": "no namespace"})
    seen = scrape()
    assert seen("rocketns_admin_requests_total", code="DELETE_TOPIC_IN_NAMESRV", result="SUCCESS") == 1
    assert seen("rocketns_admin_requests_total", code="PUT_KV_CONFIG", result="SYSTEM_ERROR") == 1


def test_about_one_lookup_in_64_is_measured(managed: Managed, scrape: Scrape, names: Names) -> None:
    """A sample is taken after 32 to 95 rounds, so 1000 rounds have 10 to 31 samples."""
    with managed.connect() as client:
        registered(client, names)
        for _ in range(1000):
            ask_route(client, names.topic("T"))
    seen = scrape()
    assert 10 <= (seen("rocketns_lookup_duration_seconds_count", result="found") or 0) <= 40
    assert 0 < (seen("rocketns_lookup_duration_seconds_sum", result="found") or 0) < 10


def test_control_measures_its_requests_and_turns(managed: Managed, scrape: Scrape, names: Names) -> None:
    with managed.connect() as client:
        for _ in range(3):
            registered(client, names)
        client.request(codes.GET_BROKER_CLUSTER_INFO)
    seen = scrape()
    labels = {"code": "REGISTER_BROKER", "result": "SUCCESS"}
    assert seen("rocketns_request_duration_seconds_count", **labels) == 3
    assert 0 < (seen("rocketns_request_duration_seconds_sum", **labels) or 0) < 30
    assert (seen("rocketns_control_turn_duration_seconds_count") or 0) >= 4


def test_registrations_are_counted_by_what_they_did(managed: Managed, scrape: Scrape, names: Names) -> None:
    with managed.connect() as client, managed.connect() as other:
        registered(client, names)
        registered(client, names)
        registered(client, names, ("T", "U", "V"), version={"counter": 2, "stateVersion": 0, "timestamp": 2})
        register(other, names, host=2, version={"counter": 1, "stateVersion": -1, "timestamp": 1})
        seen = scrape()
    assert [seen("rocketns_registrations_total", result=one) for one in ("changed", "unchanged", "refused")] == [
        2,
        1,
        1,
    ]


def test_the_tables_are_counted(managed: Managed, scrape: Scrape, names: Names) -> None:
    with managed.connect() as client:
        registered(client, names)
        registered(client, Names())
        put_kv(client, "a namespace", "key", "value")
        seen = scrape()
    assert seen("rocketns_brokers", state="live") == 2
    assert (seen("rocketns_broker_groups"), seen("rocketns_clusters")) == (2, 2)
    assert (seen("rocketns_topics"), seen("rocketns_route_entries")) == (4, 4)
    assert (seen("rocketns_kv_namespaces"), seen("rocketns_kv_changes_total")) == (1, 1)


def test_the_bytes_of_routes_grow_with_them(managed: Managed, scrape: Scrape, names: Names) -> None:
    before = [scrape()("rocketns_route_bytes", of=of) or 0 for of in ("control", "reactors")]
    with managed.connect() as client:
        registered(client, names, tuple(f"T{number}" for number in range(2000)))
        after = [scrape()("rocketns_route_bytes", of=of) or 0 for of in ("control", "reactors")]
    assert all(0 < then < now - 2000 * 100 for then, now in zip(before, after, strict=True))


def test_a_silent_broker_is_late_and_a_broker_that_goes_is_counted_by_its_cause(
    managed: Managed, scrape: Scrape, names: Names
) -> None:
    with managed.connect() as client:
        registered(client, names)
        pass_time(managed, 61_000)
        assert scrape()("rocketns_brokers", state="late") == 1
        registered(client, names)
        assert scrape()("rocketns_broker_heartbeat_gap_seconds_bucket", le="65") == 1
    eventually(lambda: scrape()("rocketns_brokers_gone_total", cause="channel_close") == 1)


def test_connections_are_counted_by_why_they_were_closed(managed: Managed, scrape: Scrape) -> None:
    with managed.connect() as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
        assert scrape()("rocketns_connections", transport="reactors") == 1
        client.send(b"\x00\x00\x00\x01x")
        eventually(lambda: scrape()("rocketns_connections_closed_total", reason="malformed_frame") == 1)
    with managed.connect() as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
    eventually(lambda: scrape()("rocketns_connections_closed_total", reason="peer") == 1)
    assert scrape()("rocketns_connections_opened_total", transport="reactors") == 2


def test_a_file_that_cannot_be_written_is_counted(managed: Managed, scrape: Scrape, tmp_path: Path) -> None:
    (tmp_path / "kv.json").mkdir()
    with managed.connect() as client:
        fields = {"namespace": "ns", "key": "k", "value": "v"}
        assert client.request(codes.PUT_KV_CONFIG, fields).code == codes.SYSTEM_ERROR
    seen = scrape()
    assert (seen("rocketns_file_write_failures_total"), seen("rocketns_queue_length", queue="files")) == (1, 0)


def test_connections_beyond_the_limit_are_counted(start_managed: Callable[..., Managed]) -> None:
    managed = start_managed({"rocketns.connectionsMax": 1})
    with managed.connect() as first:
        first.request(codes.GET_BROKER_CLUSTER_INFO)
        with managed.connect() as second:
            assert second.is_closed_by_server()
    seen = managed.scrape()
    assert seen("rocketns_connections_closed_total", reason="connections_max") == 1
    assert seen("rocketns_limit", limit="connectionsMax") == 1


def test_tls_handshakes_and_the_time_they_took_are_counted(managed: Managed, scrape: Scrape) -> None:
    assert scrape()("rocketns_tls_handshake_seconds_total") == 0
    with TlsClient(managed.port) as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
    assert scrape()("rocketns_tls_handshakes_total", result="succeeded") == 1
    assert 0 < (scrape()("rocketns_tls_handshake_seconds_total") or 0) < 60


def test_a_tls_handshake_that_fails_is_counted(managed: Managed, scrape: Scrape) -> None:
    """The server reads at least the length of a PROXY header's beginning first (B054), so the record is longer."""
    with socket.create_connection(("127.0.0.1", managed.port)) as peer:
        peer.sendall(b"\x16\x03\x01\x00\x20" + bytes(32))
        peer.settimeout(60)
        while peer.recv(4096):
            pass
    eventually(lambda: scrape()("rocketns_tls_handshakes_total", result="failed") == 1)


def test_codes_that_peers_choose_make_no_labels(managed: Managed, scrape: Scrape) -> None:
    before = len(scrape().samples)
    with managed.connect() as client:
        for code in range(20_000, 20_300):
            client.request(code)
    seen = scrape()
    assert seen("rocketns_requests_total", code="other", result="REQUEST_CODE_NOT_SUPPORTED") == 300
    assert len(seen.samples) - before < 60


def test_topics_brokers_and_clients_make_no_labels(managed: Managed, scrape: Scrape) -> None:
    with managed.connect() as client:
        registered(client, Names())
        before = len(scrape().samples)
        for _ in range(20):
            registered(client, Names())
            ask_route(client, Names().topic("none"))
        assert len(scrape().samples) - before < 60


def test_a_family_with_too_many_series_is_cut_and_that_is_counted() -> None:
    endless = counter("endless_total", "?", lambda _: (((str(n),), n) for n in range(10**9)), {"n": "?"})
    collector = exposition._Collector([endless])
    collector.show(None)  # type: ignore[arg-type]
    assert list(collector.collect()) == []
    collector.show("a scene")  # type: ignore[arg-type]
    cut, count = collector.collect()
    assert len(cut.samples) == SERIES_MAX
    assert count.samples[0].value == 1


def test_a_series_with_a_long_label_is_left_out_and_that_is_counted() -> None:
    labels = ("x" * LABEL_CHARACTERS_MAX, "x" * (LABEL_CHARACTERS_MAX + 1))
    long = counter("long_total", "?", lambda _: (((one,), 1) for one in labels), {"n": "?"})
    collector = exposition._Collector([long])
    collector.show("a scene")  # type: ignore[arg-type]
    cut, count = collector.collect()
    assert [sample.labels["n"] for sample in cut.samples] == [labels[0]]
    assert count.samples[0].value == 1


def test_the_journal_is_counted(start_managed: Callable[..., Managed], tmp_path: Path) -> None:
    managed = start_managed({"journalPath": tmp_path / "journal"})
    with managed.connect() as client:
        registered(client, Names())
        pass_time(managed, 2_000)
        seen = managed.scrape()
    assert (seen("rocketns_journal_records_total") or 0) >= 3
    assert seen("rocketns_journal_dropped_records_total") == 0
    eventually(lambda: (managed.scrape()("rocketns_journal_written_bytes_total") or 0) > 0)


def test_a_scraper_that_wants_open_metrics_gets_it(managed: Managed) -> None:
    answer = managed.http.ask("/metrics", headers=OPEN_METRICS)
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")
    assert managed.http.ask("/metrics").headers["content-type"].startswith("text/plain; version=")


def test_all_who_ask_within_a_second_get_one_text(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "TEXT_AGE_S", 60.0)
    assert len({managed.http.ask("/metrics").body for _ in range(5)}) == 1


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not here: apt-get install prometheus")
def test_promtool_finds_nothing_to_say(managed: Managed) -> None:
    with managed.connect() as client:
        registered(client, Names())
        ask_route(client, "T")
        text = managed.http.ask("/metrics").body
    said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=90, check=False)
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")
