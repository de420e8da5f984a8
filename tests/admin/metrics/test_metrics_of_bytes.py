"""What a scrape shows about waiting bytes, a blocked control thread, and certificates."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from cryptography import x509

from interop.harness import codes
from interop.harness.wire import eventually, frame, json_header
from rocketns.admin import gate, view
from rocketns.server.control import slowness
from tests.admin.conftest import Managed
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered, unregister
from tests.support.tlsclient import TlsClient

pytestmark = pytest.mark.usefixtures("no_old_numbers")


@contextmanager
def standing_still(managed: Managed) -> Iterator[None]:
    """Blocks control until the block ends."""
    begun, ended = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        ended.wait(60)

    managed.loop.call_soon_threadsafe(wait)
    assert begun.wait(60)
    try:
        yield
    finally:
        ended.set()


def idle_s(managed: Managed) -> float:
    return managed.scrape()("rocketns_control_idle_seconds") or 0.0


def test_control_that_stands_still_is_shown_with_what_waits_for_it(
    managed: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as there is a copy of the tables. Making a new one needs control."""
    request = frame(json_header(codes.GET_BROKER_CLUSTER_INFO))
    with managed.connect() as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
        assert managed.scrape()("rocketns_queue_bytes", queue="reactors") == 0
        monkeypatch.setattr(view, "COPY_AGE_S", 600.0)
        with standing_still(managed):
            client.send(request)
            eventually(lambda: (managed.scrape()("rocketns_queue_bytes", queue="reactors") or 0) >= len(request))
            waited_s = idle_s(managed)
            eventually(lambda: idle_s(managed) > waited_s)
        assert client.receive().code == codes.SUCCESS
        seen = managed.scrape()
        assert [seen("rocketns_queue_bytes", queue=one) for one in ("reactors", "requests")] == [0, 0]


def test_the_bytes_of_an_unfinished_frame_are_shown_until_its_connection_ends(managed: Managed) -> None:
    part = frame(json_header(codes.GET_BROKER_CLUSTER_INFO), b"b" * 50_000)[:40_000]
    with managed.connect() as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
        client.send(part)
        eventually(lambda: (managed.scrape()("rocketns_connection_bytes", direction="incoming") or 0) >= len(part))
    eventually(lambda: managed.scrape()("rocketns_connection_bytes", direction="incoming") == 0)
    assert managed.scrape()("rocketns_connection_bytes", direction="outgoing") == 0


def test_a_slow_turn_is_counted(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The count stands still while no turn is long enough. On a busy machine any may be longer than the limit."""
    monkeypatch.setattr(slowness, "SLOW_NS", 1 << 62)
    before = managed.scrape()("rocketns_control_slow_turns_total")
    with managed.connect() as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
        assert managed.scrape()("rocketns_control_slow_turns_total") == before
        monkeypatch.setattr(slowness, "SLOW_NS", 0)
        client.request(codes.GET_BROKER_CLUSTER_INFO)
    eventually(lambda: (managed.scrape()("rocketns_control_slow_turns_total") or 0) > (before or 0))


def test_changed_entries_of_routes_are_counted(managed: Managed, names: Names) -> None:
    with managed.connect() as client:
        before = managed.scrape()
        registered(client, names, ("T", "U", "V"))
        assert managed.scrape()("rocketns_route_entries") == 3
        unregister(client, names)
        eventually(lambda: managed.scrape()("rocketns_route_entries") == 0)
        seen = managed.scrape()
    for change in ("put", "deleted"):
        name = "rocketns_route_entries_changed_total"
        assert (seen(name, change=change) or 0) - (before(name, change=change) or 0) == 3


def test_the_end_of_the_certificate_is_shown_once_tls_is_used(managed: Managed) -> None:
    name = "rocketns_tls_certificate_not_after_timestamp_seconds"
    assert managed.scrape()(name) is None
    with TlsClient(managed.port) as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
        certificate = x509.load_der_x509_certificate(client.served_certificate)
    seen = managed.scrape()
    assert seen(name) == certificate.not_valid_after_utc.timestamp()


def test_connections_that_the_management_port_closes_are_counted_by_the_reason(
    managed: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "rocketns_admin_connections_closed_total"
    before = managed.scrape()
    assert [before(name, reason=reason) for reason in ("late", "full")] == [0, 0]
    with monkeypatch.context() as briefly:
        briefly.setattr(gate, "HEADER_WITHIN_S", 0.3)
        assert managed.http.raw(b"GET /livez HTTP/1.1\r\nX-Slow: ") == b""
    assert managed.scrape()(name, reason="late") == 1
