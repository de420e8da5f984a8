"""The host names that the management port accepts. No foreign web page may read it through an operator's browser."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from rocketns.admin.hosts import Hosts
from rocketns.config import AdminConfig
from rocketns.errors import StartupError
from tests.admin.conftest import Managed

PATHS = ("/", "/api/v1/config", "/api/v1/stream", "/page/main.js", "/nothing", "/metrics/", "//metrics")


@pytest.mark.parametrize("path", PATHS)
def test_a_name_that_nobody_gave_it_is_answered_with_what_to_do_and_nothing_else(managed: Managed, path: str) -> None:
    answer = managed.http.ask(path, headers={"Host": "evil.example:9877"})
    assert answer.status == 421
    assert answer.text == (
        "this server does not answer under the name 'evil.example:9877': use its IP address, or add the name to "
        "rocketns.adminHosts\n"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST.:9877", "[::1]:9877", "10.1.2.3", "[fe80::1]"])
def test_an_address_and_localhost_need_no_property(managed: Managed, host: str) -> None:
    assert managed.http.ask("/api/v1/status", headers={"Host": host}).status == 200


def test_the_machine_is_asked_by_its_name(managed: Managed) -> None:
    assert managed.http.ask("/api/v1/status", headers={"Host": f"{socket.gethostname()}:9877"}).status == 200


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz"])
def test_scrapers_and_probes_may_ask_by_any_name(managed: Managed, path: str) -> None:
    assert managed.http.ask(path, headers={"Host": "rocketns-0.rocketns.svc:9877"}).status == 200


def test_a_request_of_http_1_0_needs_no_host(managed: Managed) -> None:
    assert managed.http.raw(b"GET /livez HTTP/1.0\r\n\r\n").endswith(b"alive\n")


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


@pytest.mark.parametrize("text", ["a:80", "http://a", "*", "a;b/c", "..", ";".join(["a"] * 65)])
def test_names_that_are_none_stop_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=r"rocketns\.adminHosts"):
        AdminConfig().update({"rocketns.adminHosts": text})
