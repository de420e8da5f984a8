"""What an announced address becomes, and in which view a connection is."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.views.mapping import AddressMapping, NetworkRule, read_rule
from rocketns.views.views import View, Views
from rocketns.views.views_file import read_views
from tests.views.places import Peer

RULES = """\
[views.v]
listen = "h:1"
[views.v.addresses]
"a/0" = "203.0.113.1:1"
"10.2.3.4:10911" = "203.0.113.2:2"
"broker.svc:10911" = "outside.example.com:3"
"10.2.0.0/16" = "198.51.0.0/16:+20000"
"10.2.3.0/24" = "198.18.7.0/24"
"10.9.0.0/16" = "198.19.0.0/16:-10000"
"2001:db8:1::/64" = "2001:db8:2::/64:+1"
"10.1.0.0/32" = "192.0.2.1/32"
"10.3.0.0/16" = "198.52.0.0/16:+60000"
"""


@pytest.mark.parametrize(
    ("name", "broker_id", "announced", "shown"),
    [
        ("a", 0, "10.2.3.4:10911", "203.0.113.1:1"),
        ("a", 1, "10.2.3.4:10911", "203.0.113.2:2"),
        ("b", 0, "10.2.3.4:10912", "198.18.7.4:10912"),
        ("b", 0, "10.2.4.4:10911", "198.51.4.4:30911"),
        ("b", 0, "10.9.1.2:10911", "198.19.1.2:911"),
        ("b", 0, "10.9.1.2:10000", None),
        ("b", 0, "10.3.1.2:10911", None),
        ("b", 0, "broker.svc:10911", "outside.example.com:3"),
        ("b", 0, "broker.svc:10912", None),
        ("b", 0, "10.4.0.1:10911", None),
        ("b", 0, "10.1.0.0:1", "192.0.2.1:1"),
        ("b", 0, "::ffff:10.2.4.4:10911", "198.51.4.4:30911"),
        ("b", 0, "[2001:db8:1::7]:10911", "[2001:db8:2::7]:10912"),
        ("b", 0, "2001:db8:1::7:10911", "[2001:db8:2::7]:10912"),
        ("b", 0, "", None),
        ("b", 0, "10.2.0.1", None),
        ("b", 0, "10.2.0.1:99999", None),
        ("b", -1, "10.2.4.4:10911", "198.51.4.4:30911"),
    ],
)
def test_the_most_exact_rule_counts(name: str, broker_id: int, announced: str, shown: str | None) -> None:
    mapping = read_views("f", RULES)[0].mapping
    found = mapping.find(name, broker_id, announced)
    assert (None if found is None else found.address) == shown
    assert found is None or found.rule in RULES.replace('"', "")


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.integers(0, 2**32 - 1), st.integers(1, 65535))
def test_host_keeps_its_part_of_the_address(base: int, bits: int, host: int, port: int) -> None:
    """By arithmetic on bits as texts."""
    prefix, own = f"{base:032b}"[:bits], f"{host:032b}"
    source = own[:bits]

    def text(digits: str) -> str:
        return ".".join(str(int(digits[place : place + 8], 2)) for place in range(0, 32, 8))

    rule = read_rule(f"{text(source.ljust(32, '0'))}/{bits}", f"{text(prefix.ljust(32, '0'))}/{bits}")
    assert isinstance(rule, NetworkRule)
    found = AddressMapping(networks=(rule,)).find("b", 0, f"{text(own)}:{port}")
    assert found is not None
    assert found.address == f"{text(prefix + own[bits:])}:{port}"


def test_route_is_mapped_with_the_keys_of_its_filter_servers() -> None:
    mapping = read_views("f", RULES)[0].mapping
    group = BrokerData("c", "a", {0: "10.2.3.4:10911", 1: "10.5.0.1:10911"})
    servers: dict[str, list[str | None] | None] = {"10.2.3.4:10911": ["10.2.3.4:99"], "10.5.0.1:10911": None}
    route = TopicRouteData([("a", QueueData(1, 1, 6, 0))], [group], servers)
    mapping.map_route(route)
    assert route.broker_datas[0].broker_addrs == {0: "203.0.113.1:1", 1: "10.5.0.1:10911"}
    assert route.filter_server_table == {"203.0.113.1:1": ["10.2.3.4:99"], "10.5.0.1:10911": None}
    assert group.broker_addrs[0] == "10.2.3.4:10911"


PLACES = """\
[views.wide]
networks = ["10.0.0.0/8", "2001:db8::/32"]
[views.narrow]
networks = ["10.1.0.0/16", "::ffff:192.0.2.0/120", "2001:db8:1::/48"]
[views.one]
networks = ["10.1.2.3/32", "0.0.0.0/1"]
[views.port]
listen = "h:1"
"""


@dataclass
class Case:
    peer: Peer
    view: str | None
    trusts: bool = False
    listeners: tuple[str, ...] = field(default=("h:1", "gone:2"))


@pytest.mark.parametrize(
    "case",
    [
        Case(Peer("10.9.0.1:5"), "wide"),
        Case(Peer("10.1.0.1:5"), "narrow"),
        Case(Peer("10.1.2.3:5"), "one"),
        Case(Peer("::ffff:10.1.2.3:5"), "one"),
        Case(Peer("9.9.9.9:5"), "one"),
        Case(Peer("200.9.9.9:5"), None),
        Case(Peer("192.0.2.77:5"), "narrow"),
        Case(Peer("2001:db8:1::1:5"), "narrow"),
        Case(Peer("2001:db8:2::1%eth0:5"), "wide"),
        Case(Peer("::1:5"), None),
        Case(Peer("unknown"), None),
        Case(Peer("10.9.0.1:5", is_broker=True), None),
        Case(Peer("10.9.0.1:5", listener=1), "port"),
        Case(Peer("10.9.0.1:5", listener=2), None),
        Case(Peer("10.9.0.1:5", listener=1, is_broker=True), None),
        Case(Peer("10.9.0.1:5", announced_by="200.0.0.1"), None),
        Case(Peer("10.9.0.1:5", announced_by="10.1.0.1"), "narrow"),
        Case(Peer("10.9.0.1:5", announced_by="20010db800010000"), "narrow"),
        Case(Peer("10.9.0.1:5", announced_by="200.0.0.1"), "wide", trusts=True),
        Case(Peer("10.9.0.1:5", announced_by="200.0.0.1", listener=1), "port", trusts=True),
    ],
    ids=lambda case: f"{case.peer.address}-{case.view}",
)
def test_longest_prefix_or_listener_says_who_is_in_a_view(case: Case) -> None:
    views = Views(read_views("f", PLACES), case.listeners, trusts_announced=case.trusts)
    found = views.of(case.peer)
    assert (None if found is None else found.name) == case.view


def test_without_views_nobody_is_in_one() -> None:
    assert Views().of(Peer("10.0.0.1:5", listener=0)) is None
    assert Views((View("a"),)).of(Peer("10.0.0.1:5")) is None
