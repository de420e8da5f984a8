"""Settings that are read are weighed, and what was not checked is not called well: a fleet for each."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from rocketns.client import resolving
from rocketns.doctor.arguments import build, options_of
from rocketns.doctor.checks.registering import elsewhere
from rocketns.doctor.facts import AddressFacts, BrokerFacts, FleetFacts, IpScope, Reaction
from rocketns.doctor.finding import Diagnosis, Health
from rocketns.doctor.report import run
from rocketns.protocol.body.route import QueueData
from tests.doctor.counting import FakeBroker, report_on
from tests.doctor.examining import found, gathered, ill
from tests.doctor.page import NS_1, NS_2, RW, TOPIC, TOPICS, A, B, broker, fleet, name_server, reached
from tests.doctor.test_asking import hang

NO_WRITES = QueueData(8, 8, 4, 0)
WIPED = {
    **TOPICS,
    TOPIC: {"broker-a": NO_WRITES, "broker-b": RW},
    "SELF_TEST_TOPIC": {"broker-a": NO_WRITES, "broker-b": RW},
}


def said(facts: FleetFacts, check: str) -> Diagnosis:
    """The first finding of a check."""
    return found(run(facts), check)


def configured(name: str = "broker-a", addr: str = A, **settings: str) -> BrokerFacts:
    """A broker that answers request 26 with these properties."""
    return broker(name, addr, configuration={"brokerName": name, **settings})


def test_a_brokers_own_permission_is_not_taken_for_one_that_was_wiped() -> None:
    """addWritePerm would change nothing: the broker itself writes it into its registration."""
    facts = fleet(name_server(NS_1, WIPED), topic=TOPIC, brokers=(configured(brokerPermission="4"),))
    finding = said(facts, "permission-wiped")
    assert "brokerPermission=4" in finding.sentence
    assert finding.commands == (f"mqadmin updateBrokerConfig -n {NS_1} -b {A} -k brokerPermission -v 6",)
    assert ill(run(facts)) == ["permission-wiped"]


def test_a_broker_that_does_not_let_consumers_read_is_named_once() -> None:
    unread = {name: {"broker-a": QueueData(8, 8, 2, 0), "broker-b": RW} for name in (TOPIC, "SELF_TEST_TOPIC")}
    facts = fleet(name_server(NS_1, {**TOPICS, **unread}), topic=TOPIC, brokers=(configured(brokerPermission="2"),))
    assert "brokerPermission=2" in said(facts, "permission-wiped").sentence
    assert ill(run(facts)) == ["permission-wiped"]


def dns(names: str, *ips: str, **settings: str) -> BrokerFacts:
    """A broker whose list is a DNS name, which has these addresses."""
    own = {"namesrvAddr": names, "fetchNameSrvAddrByDnsLookup": "true", **settings}
    return broker("broker-a", A, configuration=own, name_servers={names: ips})


def test_a_broker_that_asks_the_dns_registers_at_each_address_of_the_name() -> None:
    servers = (name_server(NS_1, ips=("10.0.0.1",)), name_server(NS_2, groups={}, ips=("10.0.0.2",)))
    (finding,) = elsewhere(fleet(*servers, brokers=(dns("ns.example:9876", "10.0.0.1"),)))
    assert (finding.state, "the DNS name ns.example:9876" in finding.sentence) == (Health.ILL, True)
    assert "10.0.0.2" in finding.commands[0]
    changes = [line for line in finding.commands if line.startswith("mqadmin")]
    assert [line.rpartition(" -k ")[2] for line in changes] == [
        "fetchNameSrvAddrByDnsLookup -v false", f"namesrvAddr -v '{NS_1};{NS_2}'"
    ]  # fmt: skip
    assert not list(elsewhere(fleet(servers[0], brokers=(dns("ns.example:9876", "10.0.0.1"),))))


def test_a_broker_that_asks_the_dns_for_nothing_is_told_to_have_a_list() -> None:
    """The doctor ended with an exception."""
    (finding,) = elsewhere(fleet(name_server(NS_1, groups={}), brokers=(dns(""),)))
    assert f"namesrvAddr -v {NS_1}" in finding.commands[0]


def test_of_a_name_with_several_addresses_a_broker_takes_one() -> None:
    servers = (name_server(NS_1, ips=("10.0.0.1",)), name_server(NS_2, groups={}, ips=("10.0.0.2",)))
    own = dns("ns:9876", "10.0.0.1", "10.0.0.2", fetchNameSrvAddrByDnsLookup="false")
    (finding,) = elsewhere(fleet(*servers, brokers=(own,)))
    assert f"namesrvAddr -v '{NS_1};{NS_2}'" in finding.commands[0]


async def test_every_address_of_a_name_is_a_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two name servers behind a name is down. Clients go to the one or to the other."""

    async def found_by_dns(host: str, _port: int) -> list[str]:
        return ["127.0.0.1", "127.0.0.2"] if host == "ns.example" else [host]

    monkeypatch.setattr(resolving, "addresses_of", found_by_dns)
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    facts = await gathered(addrs=(f"ns.example:{free.getsockname()[1]}",))
    free.close()
    assert [one.addr.rpartition(":")[0] for one in facts.name_servers] == ["127.0.0.1", "127.0.0.2"]
    assert "ns.example" in run(facts).findings[0].evidence[-1]


LISTS = [f"{NS_1},{NS_2}", f"{NS_1}; {NS_2}", f"{NS_1} {NS_2}", f"{NS_1};{NS_2},{NS_1}"]


@pytest.mark.parametrize("text", LISTS)
def test_a_list_that_rocketmq_does_not_split_is_named_and_printed_as_it_has_to_be(text: str) -> None:
    own = fleet(name_server(NS_1), name_server(NS_2), brokers=(configured(namesrvAddr=text),))
    finding = said(own, "name-server-list")
    assert (finding.state, "splits at ; alone" in finding.sentence) == (Health.ILL, True)
    assert finding.commands[0].endswith(f"-k namesrvAddr -v '{NS_1};{NS_2}'")
    for environment, words in (({"NAMESRV_ADDR": text}, []), ({}, [text])):
        options = options_of(build().parse_args(words), environment, tls=False)
        given = FleetFacts(options, (name_server(NS_1), name_server(NS_2)))
        assert f"NAMESRV_ADDR='{NS_1};{NS_2}'" in said(given, "name-server-list").commands
    assert "name-server-list" not in ill(run(fleet(brokers=(configured(namesrvAddr=f"{NS_1};{NS_2};"),))))


async def test_a_broker_on_this_machine_that_hangs_is_not_called_loopback() -> None:
    assert (
        "does not answer requests" in found((await report_on(FakeBroker(), serve=hang))[0], "broker-address").sentence
    )


def test_a_list_that_was_just_repaired_is_waited_for() -> None:
    """A broker reads its list again every two minutes. 30 s after the repair nothing is wrong with it."""
    servers = (name_server(NS_1), name_server(NS_2, groups={"broker-b": {0: B}}, topics=TOPICS))
    repaired = configured(namesrvAddr=f"{NS_1};{NS_2}", updateNameServerAddrPeriod="60000")
    report = run(fleet(*servers, brokers=(repaired,)))
    assert not ill(report)
    assert "every 60 s" in found(report, "broker-registers-elsewhere").sentence
    assert [one.state for one in report.findings if one.check == "name-servers-agree"] == [Health.UNKNOWN]


def test_a_name_server_that_a_broker_left_is_named_while_it_still_shows_the_broker() -> None:
    finding = said(fleet(brokers=(configured(namesrvAddr=NS_1),)), "broker-registers-elsewhere")
    assert (finding.state, "disappears" in finding.sentence, NS_2 in finding.sentence) == (Health.ILL, True, True)
    assert f"'{NS_1};{NS_2}'" in finding.commands[0]


@pytest.mark.parametrize("text", ["lb.example:9876", f"{NS_1};lb.example:9876"])
def test_a_list_with_names_that_mean_nothing_here_says_nothing(text: str) -> None:
    """What is behind them may be each of these name servers."""
    assert not list(elsewhere(fleet(brokers=(configured(namesrvAddr=text),))))


def test_a_broker_that_started_without_a_list_reads_one_at_its_start_only() -> None:
    (finding,) = elsewhere(fleet(name_server(NS_1, groups={}), brokers=(configured(),)))
    assert any("restart" in line for line in finding.commands)


def test_a_name_server_at_the_address_of_a_broker_is_no_broker() -> None:
    facts = fleet(
        name_server(NS_1), addresses={A: reached(A, Reaction.ANSWERED, IpScope.PRIVATE)},
        brokers=(broker("broker-a", A, codes={28: 3, 26: 3}),),
    )  # fmt: skip
    assert "no broker" in said(facts, "broker-address").sentence


def test_a_broker_that_died_is_to_be_started_not_configured() -> None:
    facts = fleet(name_server(NS_1), addresses={A: reached(A, Reaction.REFUSED, IpScope.PRIVATE)})
    commands = said(facts, "broker-address").commands
    assert "start it" in commands[0]
    assert not [line for line in commands if not line.startswith("#")]


def test_a_former_name_lives_as_long_as_its_address() -> None:
    facts = fleet(name_server(NS_1, groups={"broker-a": {0: A}, "broker-old": {0: A}}))
    text = " ".join(said(facts, "broker-id-moves").commands)
    assert "2 minutes" not in text
    assert "stays" in text


def test_where_roles_are_elected_no_role_is_written_into_a_configuration() -> None:
    elected = broker("broker-a", B, broker_id=2, configuration={"enableControllerMode": "true"})
    report = run(fleet(name_server(NS_1, groups={"broker-a": {2: B}}), brokers=(elected,)))
    commands = found(report, "slave-without-master").commands
    assert "brokerId=0" not in commands
    assert any("getSyncStateSet" in line for line in commands)


def test_consumers_without_a_key_may_be_why_there_is_none() -> None:
    closed = broker("broker-a", A, configuration={"aclEnable": "true"}, consumers={"readers": None})
    finding = said(fleet(name_server(NS_1), groups=("readers",), brokers=(closed,)), "group")
    assert any("aclEnable=true" in line for line in finding.evidence)


SETTINGS = bytes.fromhex("00001804000000000000040040000000050040000000060000200000fe0300000001")
GO_AWAY = bytes.fromhex("0000080700000000000000000000000001")


async def speak_grpc(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What a proxy's port 8081 sends to a frame of RocketMQ: the settings of HTTP/2, and its end."""
    await reader.read(1)
    writer.write(SETTINGS + GO_AWAY)
    writer.close()


async def test_a_grpc_port_is_another_protocol() -> None:
    report, _ = await report_on(FakeBroker(), serve=speak_grpc)
    assert "something else than a broker" in found(report, "broker-address").sentence
    assert found(run(await gathered(speak_grpc)), "name-server-kind").state is Health.ILL


async def test_an_address_with_an_interface_that_is_not_there_is_no_dns_name() -> None:
    addr = "[2001:db8::1%eth9]:9876"
    assert (await gathered(addrs=(addr,))).name_servers[0].outcome is Reaction.UNREACHABLE
    report, _ = await report_on(topics=(), brokers=("[2001:db8::1%eth9]:10911",))
    assert [one.outcome for one in report.facts.addresses.values()] == [Reaction.UNREACHABLE]


def silent(addr: str, **more: Any) -> FleetFacts:
    """A fleet whose only name server says of nothing but its brokers what it has."""
    return fleet(name_server(addr, {}, routes={}, codes={105: 1, 219: 16}, **more))


UNCHECKED: dict[str, Callable[[], FleetFacts]] = {
    "permission-wiped": lambda: silent(NS_1),
    "order-configuration": lambda: silent(NS_1),
    "name-servers-agree": lambda: fleet(name_server(NS_1)),
    "topic-on-some-name-servers": lambda: fleet(name_server(NS_1), topic=TOPIC),
    "topic-read-only": lambda: fleet(topic="Payments"),
    "few-queues": lambda: fleet(topic="Payments"),
    "topic-not-registered": lambda: fleet(topic=TOPIC, brokers=(broker("broker-a", A),)),
    "topic-not-on-broker": lambda: fleet(topic=TOPIC, brokers=(broker("broker-a", A),)),
    "broker-registers-elsewhere": lambda: fleet(brokers=(broker("broker-a", A),)),
    "broker-address": lambda: fleet(addresses={A: AddressFacts(A)}),
    "broker-version": lambda: fleet(client_version=513, brokers=(broker("broker-a", A, version=None),)),
}


@pytest.mark.parametrize("check", UNCHECKED)
def test_what_was_not_checked_is_not_called_well(check: str) -> None:
    assert check in run(UNCHECKED[check]()).skipped


def test_a_missing_topic_is_one_finding_whatever_else_is_known_of_it() -> None:
    """Its name looks misspelt, and no broker creates topics. The permission that was wiped comes next."""
    facts = fleet(
        name_server(NS_1, {name: queues for name, queues in WIPED.items() if name != "TBW102"}), topic="orders",
        brokers=(configured(autoCreateTopicEnable="false"),),
    )  # fmt: skip
    assert ill(run(facts)) == ["topic-missing", "permission-wiped"]
    finding = said(facts, "topic-missing")
    assert "but Orders" in finding.sentence
    text = " ".join((*finding.evidence, *finding.commands))
    assert all(word in text for word in ("TBW102", "autoCreateTopicEnable=false", "instead of orders", "updateTopic"))
