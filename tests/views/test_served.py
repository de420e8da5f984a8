"""A server with views, on real sockets: who gets which addresses from reactors and from control, and what stays."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.wire import Answer, Client, eventually
from tests.support.inprocess import FakeClock, TimedServer
from tests.support.proxyheaders import v1
from tests.support.starting import stopped_after

INSIDE, OUTSIDE, BESIDE = "127.0.0.1", "127.0.7.1", "127.0.8.1"
VIEWS = """\
[views.outside]
networks = ["127.0.7.0/24"]
[views.outside.addresses]
"broker-a/0" = "203.0.113.7:30911"
"10.0.0.0/24" = "203.0.113.0/24:+20000"
[views.beside]
networks = ["127.0.8.0/24"]
[views.beside.addresses]
"10.0.0.1:10911" = "192.0.2.1:1"
"""
MASTER, SLAVE = "10.0.0.1:10911", "10.0.0.2:10911"
SHOWN = {INSIDE: (MASTER, SLAVE), OUTSIDE: ("203.0.113.7:30911", "203.0.113.2:30911"), BESIDE: ("192.0.2.1:1", SLAVE)}
MEMBERS = "rmq_sys_SYNC_BROKER_MEMBER_broker-a"
BODY = register_body([topic_config("T"), topic_config(MEMBERS)])


class Viewed(TimedServer):
    """A server whose views are in a file that the test may write again."""

    brokers: Client

    def __init__(self, home: Path, views: str, **properties: object) -> None:
        self.path = home / "views.toml"
        self.path.write_text(views, "utf-8")
        named = {name.replace("_", "."): value for name, value in properties.items()}
        super().__init__(home, {"rocketns.viewsFile": self.path} | named, FakeClock())

    def change(self, views: str) -> None:
        """Put another file in its place, and let the server read it."""
        new = self.path.with_suffix(".new")
        new.write_text(views, "utf-8")
        new.rename(self.path)
        was = self.controller.views_file.views
        self.look_twice()
        eventually(lambda: self.controller.views_file.views is not was, every_s=0.001)
        self.call(lambda: None)  # its log line is written in the same step

    def look_twice(self) -> None:
        """A change is read when a second look sees the same; a thread reads it."""
        self.advance(1_000)
        self.advance(1_000)


Start = Callable[..., Viewed]


@pytest.fixture
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Start:
    def start_one(views: str = VIEWS, **properties: object) -> Viewed:
        server = Viewed(tmp_path, views, **properties)
        server.brokers = register(server)
        return server

    return stopped_after(request, start_one)


def register(server: TimedServer, source: str = INSIDE, body: bytes = BODY, **more: Any) -> Client:
    """A broker, or else the master and the slave of broker-a, by a connection that stays open."""
    client = Client(server.port, source=source)
    for one in [more] if more else [{"addr": MASTER}, {"addr": SLAVE, "broker_id": 1}]:
        assert client.request(103, register_ext(body=body, **one), body).code == 0
    return client


def asked(server: Viewed, source: str, code: int = 105, port: int = 0, **ext: Any) -> Answer:
    """The answer to a newcomer, to a lookup of T unless the fields say otherwise."""
    fields = {"topic": "T", "acceptStandardJsonOnly": "true"} if code == 105 else {}
    with Client(port or server.port, source=source) as client:
        return client.request(code, fields | ext)


def shown(answer: Answer) -> list[dict[str, str]]:
    """The addresses of each broker of a route."""
    assert answer.code == 0, answer.remark
    return [group["brokerAddrs"] for group in answer.json()["brokerDatas"]]


def of(source: str) -> list[dict[str, str]]:
    return [{"0": SHOWN[source][0], "1": SHOWN[source][1]}]


def by_reactors(server: Viewed) -> int:
    return sum(server.reactors.lookups)


# Fields with which control answers a lookup: a zone that is switched off changes nothing else.
BY_CONTROL = {"__ZONE_MODE": "false"}


@pytest.mark.parametrize("source", [INSIDE, OUTSIDE, BESIDE])
def test_client_gets_the_addresses_of_its_network_from_reactors_and_from_control(start: Start, source: str) -> None:
    server = start()
    assert shown(asked(server, source)) == of(source)
    assert by_reactors(server) == 1
    assert shown(asked(server, source, **BY_CONTROL)) == of(source)
    assert by_reactors(server) == 1


def test_old_and_current_clients_get_the_same_answers_from_reactors_as_from_control(start: Start) -> None:
    server = start()
    with Client(server.port, source=OUTSIDE) as client:
        for version in (300, 399, 401, 513):
            fast = client.request(105, {"topic": "T"}, version=version)
            slow = client.request(105, {"topic": "T"} | BY_CONTROL, version=version)
            assert fast.body == slow.body
            assert SHOWN[OUTSIDE][0].encode() in (fast.body or b"")
    assert by_reactors(server) == 4


def test_cluster_info_and_system_topics_are_mapped(start: Start) -> None:
    server = start()
    for source in (INSIDE, OUTSIDE, BESIDE):
        body = asked(server, source, 106).body or b""
        assert sorted(re.findall(rb'[01]:"([^"]*)"', body)) == sorted(addr.encode() for addr in SHOWN[source])
        assert asked(server, source, 304).json()["brokerAddr"] == SHOWN[source][0]


def test_what_brokers_need_is_never_mapped(start: Start) -> None:
    """Its slave's answer has the master's address, it reads its group's members, and what it asks has no view."""
    server = start()
    broker = register(server, OUTSIDE)
    slave = broker.request(103, register_ext(addr=SLAVE, broker_id=1, body=BODY), BODY)
    assert slave.ext is not None
    assert (slave.ext["masterAddr"], slave.ext["haServerAddr"]) == (MASTER, "10.0.0.1:10912")
    for ext in ({}, BY_CONTROL):
        assert shown(broker.request(105, {"topic": "T", "acceptStandardJsonOnly": "true"} | ext)) == of(INSIDE)
        assert shown(asked(server, OUTSIDE, topic=MEMBERS, **ext)) == of(INSIDE)
    assert MASTER.encode() in (broker.request(106, {}).body or b"")
    members = asked(server, OUTSIDE, 901, clusterName="C1", brokerName="broker-a")
    assert MASTER.encode() in (members.body or b"")
    broker.close()


def test_who_asks_for_announced_addresses_gets_them(start: Start) -> None:
    server = start()
    wish = {"announcedAddresses": "true"}
    assert shown(asked(server, OUTSIDE, **wish)) == of(INSIDE)
    assert MASTER.encode() in (asked(server, OUTSIDE, 106, **wish).body or b"")
    assert asked(server, OUTSIDE, 304, **wish).json()["brokerAddr"] == MASTER
    assert shown(asked(server, OUTSIDE, announcedAddresses="false")) == of(OUTSIDE)


def test_acting_master_filter_servers_and_zones_have_mapped_addresses(start: Start) -> None:
    """The slave is shown under the master's id, and mapped by its own."""
    server = start(VIEWS.replace('"broker-a/0"', '"broker-b/0" = "h:1"\n"broker-a/0"'), supportActingMaster="true")
    body = register_body([topic_config("T", perm=4), topic_config("V")], filters=["10.0.0.2:99"])
    fields: dict[str, Any] = {
        "enableActingMaster": "true",
        "addr": SLAVE,
        "broker_id": 1,
        "broker": "broker-b",
        "__ZONE_NAME": "z",
    }
    with register(server, body=body, **fields):
        groups = asked(server, OUTSIDE).json()
        assert [one["brokerAddrs"] for one in groups["brokerDatas"]][1] == {"0": "203.0.113.2:30911"}
        assert groups["filterServerTable"] == {"203.0.113.2:30911": ["10.0.0.2:99"]}
        zoned = asked(server, OUTSIDE, __ZONE_MODE="true", __ZONE_NAME="other").body or b""
        assert b"203.0.113.7:30911" not in zoned


def test_cluster_test_mode_maps_its_own_routes_and_those_of_the_product_environment(
    start: Start, tmp_path: Path
) -> None:
    server = start()
    (tmp_path / "product").mkdir()
    product = TimedServer(tmp_path / "product")
    server.controller.configuration.product_name_servers.append(f"127.0.0.1:{product.port}")
    server.call(lambda: setattr(server.controller.core.context, "cluster_test", True))
    server.advance(1_000)
    with Client(server.port, source=OUTSIDE) as client:
        assert SHOWN[OUTSIDE][0].encode() in (client.request(105, {"topic": "T"}).body or b"")
        with register(product, body=register_body([topic_config("U"), topic_config("V")]), addr="10.0.0.3:10911"):
            assert b'"203.0.113.7:30911"' in (client.request(105, {"topic": "U"}).body or b"")
    product.stop()


def test_a_port_of_its_own_tells_the_view_whoever_asks(start: Start) -> None:
    port = free_port()
    server = start(VIEWS + f'[views.port]\nlisten = "127.0.0.1:{port}"\n[views.port.addresses]\n"broker-a/1" = "h:1"\n')
    for source in (INSIDE, OUTSIDE):
        for ext in ({}, BY_CONTROL):
            assert shown(asked(server, source, port=port, **ext)) == [{"0": MASTER, "1": "h:1"}]
    assert shown(asked(server, OUTSIDE)) == of(OUTSIDE)
    server.change(VIEWS)
    assert shown(asked(server, OUTSIDE, port=port)) == of(INSIDE)


def proxied(server: Viewed, source: str, announced: str, **ext: str) -> list[dict[str, str]]:
    with Client(server.port, source=source) as client:
        client.send(v1("TCP4", announced, "127.0.0.1", 5, 9876))
        return shown(client.request(105, {"topic": "T", "acceptStandardJsonOnly": "true"} | ext))


@pytest.mark.parametrize(
    ("trusted", "source", "announced", "view"),
    [
        ("", INSIDE, OUTSIDE, INSIDE),
        ("", OUTSIDE, INSIDE, OUTSIDE),
        ("127.0.0.1/32;127.0.7.1/32", INSIDE, OUTSIDE, OUTSIDE),
        ("127.0.0.1/32;127.0.7.1/32", OUTSIDE, INSIDE, INSIDE),
        ("127.0.0.1/32;127.0.7.1/32", OUTSIDE, "127.0.8.9", BESIDE),
    ],
)
def test_proxy_header_chooses_a_view_only_from_trusted_proxies(
    start: Start, trusted: str, source: str, announced: str, view: str
) -> None:
    server = start(rocketns_trustedProxies=trusted)
    assert proxied(server, source, announced) == of(view)
    assert proxied(server, source, announced, **BY_CONTROL) == of(view)


def test_peer_of_a_socket_for_both_families_is_found_by_its_ipv4_network(start: Start) -> None:
    server = start(bindAddress="0.0.0.0")
    assert shown(asked(server, OUTSIDE)) == of(OUTSIDE)
    assert shown(asked(server, OUTSIDE, **BY_CONTROL)) == of(OUTSIDE)


def test_changed_file_reaches_open_connections_and_a_wrong_one_none(start: Start) -> None:
    server = start()
    with Client(server.port, source=OUTSIDE) as client:
        fields = {"topic": "T", "acceptStandardJsonOnly": "true"}
        assert shown(client.request(105, fields)) == of(OUTSIDE)
        server.change(VIEWS.replace("127.0.7.0/24", "127.0.9.0/24"))
        assert shown(client.request(105, fields)) == of(INSIDE)
        server.change(VIEWS.replace("203.0.113.0/24", "198.18.0.0/24"))
        assert shown(client.request(105, fields)) == [{"0": "203.0.113.7:30911", "1": "198.18.0.2:30911"}]
        server.path.write_text("[views.outside]\n", "utf-8")
        server.look_twice()
        eventually(lambda: server.controller.views_file.failures == 1, every_s=0.001)
        assert shown(client.request(105, fields)) == [{"0": "203.0.113.7:30911", "1": "198.18.0.2:30911"}]
        server.change("[views]\n")
        assert shown(client.request(105, fields)) == of(INSIDE)


def test_broker_that_changes_is_mapped_again_with_all_views(start: Start) -> None:
    server = start()
    with register(server, addr="10.0.0.9:10911", broker_id=1), register(server, addr="10.0.0.4:1", broker="broker-b"):
        assert shown(asked(server, OUTSIDE)) == [
            {"0": "203.0.113.7:30911", "1": "203.0.113.9:30911"}, {"0": "203.0.113.4:20001"},
        ]  # fmt: skip
        assert shown(asked(server, BESIDE)) == [{"0": "192.0.2.1:1", "1": "10.0.0.9:10911"}, {"0": "10.0.0.4:1"}]
        assert by_reactors(server) == 2


def test_broker_behind_a_view_is_named_once(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    server = start()
    with register(server, OUTSIDE, addr="10.0.0.5:10911", broker="broker-c"):
        lines = [one.getMessage() for one in caplog.records if one.name == "rocketns.views"]
        assert [line for line in lines if "register through a view (outside): 10.0.0.5:10911 (outside)" in line]
        caplog.clear()
    server.change(VIEWS.replace('"127.0.7.0/24"', '"127.0.7.0/24", "127.0.0.1/32"'))
    lines = [one.getMessage() for one in caplog.records if one.name == "rocketns.views"]
    assert any("10.0.0.1:10911 (outside)" in line for line in lines)


def test_server_does_not_start_with_a_wrong_file_or_a_port_in_use(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"the list of views of rocketns\.viewsFile cannot be used: .*line 1"):
        Viewed(tmp_path, "[views.a]\n").stop()
    with Client(Viewed(tmp_path, "[views]\n").port) as client:
        used = client.socket.getpeername()[1]
        with pytest.raises(Exception, match="Failed to bind"):
            Viewed(tmp_path, f'[views.a]\nlisten = "127.0.0.1:{used}"\n').stop()


def test_no_answer_has_addresses_of_two_files_while_files_and_brokers_change(start: Start) -> None:
    """Two brokers whose addresses are mapped by two files in turn: each answer is of one file, and of one view."""
    files = [
        '[views.v]\nnetworks = ["127.0.7.0/24"]\n'
        f'[views.v.addresses]\n"broker-a/0" = "h{n}:1"\n"broker-a/1" = "h{n}:2"\n"broker-b/0" = "h{n}:3"\n'
        for n in range(2)
    ]
    server = start(files[0])
    body = register_body([topic_config("T"), topic_config("V")])
    held = [register(server, addr="10.0.0.4:1", broker="broker-b", body=body)]
    with Client(server.port, source=OUTSIDE) as client:
        seen = set()
        for step in range(12):
            server.change(files[(step + 1) % 2] + f"# {step}\n")
            held.append(register(server, addr=f"10.0.1.{step}:1", broker="broker-b", body=body))
            for ext in ({}, BY_CONTROL):
                answer = client.request(105, {"topic": "T", "acceptStandardJsonOnly": "true"} | ext)
                hosts = {addr.split(":")[0] for group in shown(answer) for addr in group.values()}
                assert len(hosts) == 1
                seen |= hosts
        assert seen == {"h0", "h1"}
    for one in held:
        one.close()
