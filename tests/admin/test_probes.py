"""What probes, hooks and browsers get: /livez, /readyz, /drainz, and under which host names."""

from __future__ import annotations

import threading
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from aiohttp.test_utils import make_mocked_request

from interop.harness.wire import eventually
from rocketns.admin import probes
from rocketns.admin.answers import Hosts
from rocketns.config import AdminConfig
from tests.admin.conftest import Managed

CHANGE = {"X-Rocketns-Change": "yes"}


def test_a_server_that_waits_for_brokers_is_alive_and_not_ready_until_the_wait_is_over(
    start_managed: Callable[..., Managed],
) -> None:
    managed = start_managed({"needWaitForService": "true", "waitSecondsForService": 45})
    answer = managed.http.ask("/readyz")
    assert (answer.status, answer.text) == (503, "not ready: waitSecondsForService is not over\n")
    assert managed.http.ask("/livez").status == 200
    managed.advance(45_000)
    assert managed.http.ask("/readyz").status == 200


def test_a_control_thread_that_takes_no_turn_is_not_alive(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "ALIVE_WITHIN_S", 0.5)
    hangs, goes_on = threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        goes_on.wait(60)

    managed.loop.call_soon_threadsafe(hang)
    try:
        assert hangs.wait(60)
        eventually(lambda: managed.http.ask("/livez").status == 503)
    finally:
        goes_on.set()
    eventually(lambda: managed.http.ask("/livez").status == 200)


def test_a_drain_asks_new_clients_to_go_answers_old_ones_and_ends_with_delete(managed: Managed) -> None:
    assert managed.http.ask("/drainz", "POST", CHANGE).status == 200
    assert managed.http.ask("/readyz").text == "not ready: it drains\n"
    with managed.connect() as client:
        assert client.request(105, {"topic": "T"}, version=500).code == 1500  # GO_AWAY
        assert client.request(105, {"topic": "T"}, version=400).code == 17
    assert managed.http.ask("/drainz", "DELETE", CHANGE).status == 200
    assert managed.http.ask("/readyz").status == 200
    with managed.connect() as client:
        assert client.request(105, {"topic": "T"}, version=500).code == 17


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example:9877"}])
def test_a_browser_cannot_ask_for_a_drain(managed: Managed, headers: dict[str, str]) -> None:
    assert managed.http.ask("/drainz", "POST", headers | CHANGE).status in (403, 421)
    assert managed.http.ask("/readyz").status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_reading_drainz_changes_nothing_and_says_how_to_drain(managed: Managed, method: str) -> None:
    answer = managed.http.ask("/drainz", method, CHANGE)
    assert (answer.status, answer.headers["allow"]) == (405, "POST, DELETE")
    assert method == "HEAD" or "POST begins a drain" in answer.text
    assert managed.http.ask("/readyz").status == 200


@pytest.mark.parametrize(
    ("peer", "allowed", "may"),
    [
        ("::1", "", True),
        ("fe80::1%eth0", "fe80::/10", True),
        ("::ffff:127.0.0.1", "", True),
        ("10.0.0.9", "", False),
        ("::ffff:10.0.0.9", "10.0.0.0/8", True),
        ("11.0.0.9", "10.0.0.0/8;fd00::/8", False),
        ("", "0.0.0.0/0", False),
    ],
)
def test_only_this_machine_and_the_networks_of_the_property_may_ask_for_a_drain(
    peer: str, allowed: str, may: bool
) -> None:
    """The address is the socket's, whatever a proxy's header says."""
    config = AdminConfig()
    config.update({"rocketns.adminDrainFrom": allowed})
    transport = Mock(get_extra_info=lambda name, default=None: (peer, 1) if name == "peername" else default)
    request = make_mocked_request("POST", "/drainz", {"X-Forwarded-For": "127.0.0.1"}, transport=transport)
    assert probes._may_drain(config, request) is may


@pytest.mark.parametrize("path", ["/", "//metrics"])
def test_a_name_that_nobody_gave_it_is_answered_with_what_to_do_and_nothing_else(managed: Managed, path: str) -> None:
    answer = managed.http.ask(path, headers={"Host": "evil.example:9877"})
    assert answer.status == 421
    assert "add the name to rocketns.adminHosts" in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST.:9877", "[::1]:9877", "10.1.2.3", "[fe80::1]"])
def test_an_address_and_localhost_need_no_property(managed: Managed, host: str) -> None:
    assert managed.http.ask("/api/v1/status", headers={"Host": host}).status == 200


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz"])
def test_scrapers_and_probes_may_ask_by_any_name(managed: Managed, path: str) -> None:
    assert managed.http.ask(path, headers={"Host": "rocketns-0.rocketns.svc:9877"}).status == 200


def test_a_second_host_does_not_hide_the_first(managed: Managed) -> None:
    for hosts in ((b"localhost", b"evil.example"), (b"evil.example", b"localhost")):
        answer = managed.http.raw(
            b"GET /api/v1/status HTTP/1.1\r\nHost: %b\r\nHost: %b\r\nConnection: close\r\n\r\n" % hosts
        )
        assert answer.split(b" ", 2)[1] in (b"400", b"421")


def test_names_of_the_property_are_known_and_a_dot_stands_for_all_below(start_managed: Callable[..., Managed]) -> None:
    managed = start_managed({"rocketns.adminHosts": "ns-1.Example.com; .ns.svc"})
    asked = {"ns-1.example.COM:80": 200, "a.b.ns.svc": 200, "ns.svc": 421, "xns.svc": 421, "example.com": 421}
    assert {host: managed.http.ask("/api/v1/status", headers={"Host": host}).status for host in asked} == asked


NO_HOSTS = ("", "evil@localhost", "localhost:evil.example", "localhost:1:2", "localhost/", "[::1", "localhost\x00",
            "127.0.0.1.evil.example", "1.2.3", "0x7f.1", "local\u212aost", ":9877")  # fmt: skip


@pytest.mark.parametrize("host", NO_HOSTS)
def test_an_invalid_host_is_not_a_name_of_this_server(host: str) -> None:
    assert not Hosts(["127.0.0.1"]).has(host)
