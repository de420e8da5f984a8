"""Fleets with one thing wrong each, on machines of their own: the doctor names it first, and its commands mend it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interop.doctor.diagnosis import Cause, examine
from interop.doctor.network import CONTAINER
from interop.doctor.site import BROKER_PORT, Pair, Site, address_of
from interop.harness import views
from interop.harness.rocketmq.java import NO_TLS
from interop.harness.servers import JavaNameServer, RocketnsServer
from interop.harness.wire import eventually
from tests.support.certificates import Files, authority

TOPIC = "Orders"
NOBODY = "10.20.0.99"
# The switch drops what is sent there.
QUICK = ("--timeout", "2")
# A producer tries the broker three times, for 3 s each. If its 10 s are over before the last, it says only that.
UNSENT = re.compile(r"BrokersSent: \[broker-a|sendDefaultImpl call timeout")


def test_an_address_that_no_machine_has_is_named(site: Site) -> None:
    """brokerIP1 is that of a machine which is gone."""
    servers = site.name_servers()
    site.running("broker-a", servers, topics=[TOPIC], announced=NOBODY)
    for server in servers:
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(site.client, [server], *words)
            cause = Cause(("broker-address",), ("broker-a", "cannot be reached"), (f"{NOBODY}:10911",), ("brokerIP1",))
            said.names_first(cause)
    assert UNSENT.search(site.error_of_producer(servers, TOPIC, tries=1))


def test_an_address_of_a_container_is_named(site: Site) -> None:
    """The broker is in a container with an address of Docker's bridge, which only its host reaches."""
    servers = site.name_servers()
    container = site.network.container("container", site.machine(21))
    site.running("broker-a", servers, on=container, topics=[TOPIC])
    for each in ((servers.java,), (servers.rocketns,)):
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(site.client, each, *words, *QUICK)
            cause = Cause(("broker-address",), ("broker-a", "container"), (f"{CONTAINER}:10911",), ("brokerIP1",))
            said.names_first(cause)
    assert UNSENT.search(site.error_of_producer(servers, TOPIC, tries=1))


def test_loopback_is_well_on_one_machine_and_named_from_another(site: Site) -> None:
    """A single broker and both name servers on one machine, as in RocketMQ's quick start; then somebody connects."""
    machine = site.machine(21)
    servers = Pair(
        site.name_server(JavaNameServer, machine, [NO_TLS]), site.name_server(RocketnsServer, machine, [], 9877)
    )
    for server in servers:
        server.host = "127.0.0.1"
    site.running("broker-a", servers, on=machine, topics=[TOPIC], announced="127.0.0.1")
    for each in ((servers.java,), (servers.rocketns,), servers):
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(machine, each, *words)
            said.is_well()
    for server in servers:
        server.host = machine.address
        said = examine(machine, [server], "--topic", TOPIC)
        said.is_well()
        said = examine(site.client, [server], "--topic", TOPIC)
        said.names_first(Cause(("broker-address",), ("broker-a", "loopback"), ("127.0.0.1:10911",), ("brokerIP1",)))
    assert UNSENT.search(site.error_of_producer(servers, TOPIC, tries=1))


OTHER = "Refunds"
SLAVE = {"brokerRole": "SLAVE", "brokerId": 1}
GONE_WITHIN_S = 60.0
# Brokers here register each 10 s. One that does so each 15 s is in the tables for 5 s at least of 30, as is the other.
SELDOM = {"registerNameServerPeriod": 15_000}
WATCH = ("--watch", "30")


def test_a_slave_that_is_lost_and_a_slave_without_its_master_are_named(site: Site) -> None:
    """Both are well first. The slave's machine loses its network, which name servers notice after two minutes; it comes
    back; the master dies."""
    servers = site.name_servers()
    there = site.machine(22)
    master = site.running("broker-a", servers, topics=[TOPIC])
    slave = site.running("broker-a", servers, on=there, properties=SLAVE)
    for each in ((servers.java,), (servers.rocketns,), servers):
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(site.client, each, *words)
            said.is_well()

    there.unplug()
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC, "--from-client", *QUICK)
        said.names_first(Cause(("broker-address",), ("broker-a",), ("id 1", slave.address)))
    there.plug_in()

    master.kill()
    with site.client.inside():
        eventually(
            lambda: all(views.brokers(server) == {"broker-a": {1: slave.address}} for server in servers), GONE_WITHIN_S
        )
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC)
        said.names_first(Cause(("slave-without-master",), ("broker-a", "master")))


def test_a_name_in_two_clusters_is_named(site: Site) -> None:
    """A slave whose brokerClusterName is another one's."""
    servers = site.name_servers()
    site.running("broker-a", servers, topics=[TOPIC])
    slave = site.running("broker-a", servers, on=site.machine(22), properties=SLAVE | {"brokerClusterName": "Depot"})
    cause = Cause(
        ("broker-in-two-clusters",), ("broker-a", "Shop", "Depot"), (f"{slave.address}): brokerClusterName=Depot",),
        ("brokerClusterName=Shop",),
    )  # fmt: skip
    for server in servers:
        for words in ((), ("--topic", TOPIC)):
            said = examine(site.client, [server], *words)
            said.names_first(cause)


def test_two_masters_of_one_name_are_named(site: Site) -> None:
    """They take turns in the name servers' tables, at each registration, so the doctor has to look for some time: by
    itself where a topic is not on the broker that its route names, and otherwise if it is told to."""
    servers = site.name_servers()
    first = site.running("broker-a", servers, topics=[TOPIC])
    second = site.running("broker-a", servers, on=site.machine(22), topics=[OTHER], properties=SELDOM)
    cause = Cause(("two-masters",), ("broker-a", first.address, second.address), (), ("brokerName=",))
    for server, words in zip(servers, (("--topic", TOPIC, "--topic", OTHER), WATCH), strict=True):
        said = examine(site.client, [server], *words)
        said.names_first(cause)


ABSENT = "Invoices"
NO_ROUTE = "No route info of this topic: "
# A broker reads its list of name servers again each two minutes; these more often.
READS_LIST_EACH_MS = 1000
AT_SOME = ("topic-on-some-name-servers", "broker-registers-elsewhere")


def test_automatic_creation_that_is_off_is_named_where_a_topic_is_missing(site: Site) -> None:
    """Two name servers that agree are well, and so is a broker that creates nothing; who counts on it fails."""
    servers = site.name_servers()
    broker = site.running("broker-a", servers, topics=[TOPIC], properties={"autoCreateTopicEnable": "false"})
    for words in ((), ("--topic", TOPIC, "--from-client")):
        said = examine(site.client, servers, *words)
        said.is_well()

    assert NO_ROUTE + ABSENT in site.error_of_producer(servers, ABSENT)
    for each in ((servers.java,), (servers.rocketns,), servers):
        said = examine(site.client, each, "--topic", ABSENT)
        said.names_first(Cause(("automatic-creation", "topic-missing"), (ABSENT,), (), ("updateTopic", f"-t {ABSENT}")))
        assert said.says("autoCreateTopicEnable", broker.name), said.text
    site.runs(*said.commands("mqadmin updateTopic"))
    examine(site.client, servers, "--topic", ABSENT).is_well()


def test_a_broker_at_one_of_two_name_servers_is_registered_by_the_command_that_is_printed(site: Site) -> None:
    """It was told one of them. Clients get a route or none, by the name server that they happen to ask."""
    servers = site.name_servers()
    own = {"autoCreateTopicEnable": "false", "updateNameServerAddrPeriod": READS_LIST_EACH_MS}
    site.running("broker-a", servers, topics=["Other"], properties=own)
    for known, unknown, topic, machine in (
        (servers.java, servers.rocketns, "Orders", site.machine(22)),
        (servers.rocketns, servers.java, "Refunds", site.machine(23)),
    ):
        broker = site.running(f"broker-{known.kind}", [known], on=machine, topics=[topic], properties=own)
        said = examine(site.client, servers, "--topic", topic)
        said.names_first(Cause(AT_SOME, (broker.name, address_of(unknown)), (), ("namesrvAddr", str(servers))))
        assert NO_ROUTE + topic in site.error_of_producer(unknown, topic)
        site.runs(*said.commands())
        site.registered(broker, servers, on=machine)
        examine(site.client, servers, "--topic", topic).is_well()


# Names of 118 characters, which a registration has twice: 17.5 MB.
TOPICS = 46_000
NAME = "{:05}-" + "a-topic-whose-name-is-as-long-as-names-can-be-" * 2 + "x" * 20
REFUSED = "Failed to register current broker to name server"


def test_a_registration_that_is_too_large_is_sent_in_parts_as_printed(site: Site) -> None:
    """No name server shows the broker, so the doctor is told its address."""
    servers = site.name_servers()
    broker = site.broker("broker-a", servers, topics=(NAME.format(number) for number in range(TOPICS)))
    with site.client.inside():
        assert [views.brokers(server) for server in servers] == [{}, {}]
    assert broker.log().count(REFUSED) >= len([*servers]), "it was refused, and not only late"
    topic = NAME.format(0)
    for server in servers:
        said = examine(site.client, [server], "--topic", topic)
        said.names_first(Cause(("no-broker",), ("no broker",), (), ("--broker",)))
        said = examine(site.client, [server], "--topic", topic, "--broker", broker.address)
        said.names_first(
            Cause(("registration-size",), ("broker-a", "16,777,216"), (broker.address,), ("enableSplitRegistration",))
        )
    site.runs(*said.commands())
    site.registered(broker, servers)
    examine(site.client, servers, "--topic", topic).is_well()


REGISTERED_WITHIN_S = 60.0
TLS = "-Dtls.enable=true"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, ...]:
    """Options of servers with a certificate of their own."""
    files = Files.write(tmp_path / "tls", authority("interop authority").issue("localhost", rsa_bits=2048))
    pair = (f"-Dtls.server.certPath={files.certificate}", f"-Dtls.server.keyPath={files.key}")
    return ("-Dtls.test.mode.enable=false", *pair)


def test_name_servers_that_take_tls_alone_are_named(site: Site, certificate: tuple[str, ...]) -> None:
    """The client speaks plain. With the option that is printed all is well."""
    servers = site.name_servers(["-Dtls.server.mode=enforcing", *certificate])
    site.broker("broker-a", servers, topics=[TOPIC], options=(TLS,))
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC)
        said.names_first(Cause(("tls",), (address_of(server), "TLS"), (), (TLS,)))
    assert ".remoting.exception.Remoting" in site.error_of_producer(servers, TOPIC)
    for server in servers:
        eventually(lambda server=server: not examine(site.client, [server], "--topic", TOPIC, TLS).of("ill"), 30.0)
        said = examine(site.client, [server], "--topic", TOPIC, TLS)
        said.is_well()


def test_servers_that_take_no_tls_and_a_broker_that_takes_nothing_else_are_named(site: Site) -> None:
    servers = site.name_servers(["-Dtls.server.mode=disabled"])
    site.broker("broker-a", servers, topics=[TOPIC], options=("-Dtls.server.mode=enforcing", "-Dtls.enable=false"))
    with site.client.inside():
        eventually(lambda: all("broker-a" in views.brokers(server) for server in servers), REGISTERED_WITHIN_S)
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC, TLS)
        said.names_first(Cause(("tls",), (address_of(server), "TLS")))
        said = examine(site.client, [server], "--topic", TOPIC)
        said.names_first(Cause(("tls",), (f"10.20.0.21:{BROKER_PORT}", "TLS")))
