"""Fleets with one thing wrong each, on machines of their own: the doctor names it first, and its commands mend it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interop.doctor.diagnosis import WELL, Cause, doctor, examine
from interop.doctor.site import Pair, Site, address_of
from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.wire import Client, eventually
from tests.support.certificates import Files, authority

TOPIC = "Orders"
NO_ROUTE = "No route info of this topic: "
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


# What a broker is asked for all that it keeps: topics, consumer groups, offsets.
KEPT = (21, 201, 43)


def test_asking_leaves_no_trace_and_a_wiped_permission_is_given_back_by_the_command_that_is_printed(site: Site) -> None:
    """First nothing is wrong. Then `mqadmin wipeWritePerm`, which operators use before they stop a broker, and
    forget."""
    servers = site.name_servers()
    broker = site.running("broker-a", servers, topics=[TOPIC])

    def traces() -> list[object]:
        with site.client.inside(), Client(broker.port, broker.host) as client:
            return [*map(views.routes, servers), *(client.request(code).body for code in KEPT)]

    def until_permission(permission: int) -> None:
        wanted = {"broker-a": permission}
        with site.client.inside():
            eventually(lambda: all(views.perms(one, TOPIC) == wanted for one in servers), 240.0)

    before, every = traces(), ((servers.java,), (servers.rocketns,), servers)
    for each in every:
        for words in ((), ("--topic", TOPIC, "--from-client", "--client-version", "5.5.0")):
            said = examine(site.client, each, *words)
            said.is_well()
    assert traces() == before

    site.runs(f"mqadmin wipeWritePerm -b broker-a -n {servers}")
    until_permission(4)
    assert NO_ROUTE + TOPIC in site.error_of_producer(servers, TOPIC)
    for each in every:
        said = examine(site.client, each, "--topic", TOPIC)
        said.names_first(Cause(("permission-wiped",), ("broker-a", "permission"), (), ("addWritePerm", "-b broker-a")))
    site.runs(*said.commands())
    until_permission(6)
    examine(site.client, servers, "--topic", TOPIC).is_well()


SLAVE = {"brokerRole": "SLAVE", "brokerId": 1}
GONE_WITHIN_S = 240.0


def with_slave(site: Site, servers: Pair) -> tuple[Broker, Broker]:
    """A master and its slave, which has the topic from the start, not only when it has asked its master."""
    master = site.running("broker-a", servers, topics=[TOPIC])
    return master, site.running("broker-a", servers, on=site.machine(22), topics=[TOPIC], properties=SLAVE)


def test_a_slave_that_is_lost_is_named(site: Site) -> None:
    """All is well first. Then its machine loses its network, which name servers notice after two minutes."""
    servers = site.name_servers()
    _, slave = with_slave(site, servers)
    for each in ((servers.java,), (servers.rocketns,), servers):
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(site.client, each, *words)
            said.is_well()

    site.machine(22).unplug()
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC, "--from-client", *QUICK)
        said.names_first(Cause(("broker-address",), ("broker-a",), ("id 1", slave.address)))


def test_a_slave_without_its_master_is_named(site: Site) -> None:
    servers = site.name_servers()
    master, slave = with_slave(site, servers)
    master.kill()
    with site.client.inside():
        eventually(
            lambda: all(views.brokers(server) == {"broker-a": {1: slave.address}} for server in servers), GONE_WITHIN_S
        )
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC)
        said.names_first(Cause(("slave-without-master",), ("broker-a", "master")))


ABSENT = "Invoices"
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
        said.names_first(Cause(("topic-missing",), (ABSENT,), (), ("updateTopic", f"-t {ABSENT}")))
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
    broker = site.broker("broker-a", servers, topics=[TOPIC], options=(TLS,))
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC)
        said.names_first(Cause(("tls",), (address_of(server), "TLS"), (), (TLS,)))
    assert ".remoting.exception.Remoting" in site.error_of_producer(servers, TOPIC)
    for server in servers:
        words = (address_of(server), "--topic", TOPIC, TLS)
        eventually(lambda words=words: doctor(site.client, *words).returncode == WELL, broker.registered_within_s)
        said = examine(site.client, [server], "--topic", TOPIC, TLS)
        said.is_well()


# By name: what is in its configuration, the text of its list, and what is said of it.
OWN_SETTINGS: tuple[tuple[str, dict[str, object], str, Cause], ...] = (
    ("broker-a", {"brokerPermission": 4}, "{java};{rocketns}", Cause(("permission-wiped",), ("brokerPermission=4",))),
    ("broker-b", {}, "{java},{rocketns}", Cause(("name-server-list",), ("broker-b", "splits at ; alone"))),
    ("broker-c", {"fetchNameSrvAddrByDnsLookup": "true"}, "{java}",
     Cause(("broker-registers-elsewhere",), ("broker-c", "DNS name"), (), ("fetchNameSrvAddrByDnsLookup", "false"))),
)  # fmt: skip


def test_settings_of_brokers_are_named_and_mended_by_the_commands_that_are_printed(site: Site) -> None:
    """Each broker has one that keeps clients from it, and the doctor says well once the commands were run."""
    servers = site.name_servers()
    addrs = {"java": address_of(servers.java), "rocketns": address_of(servers.rocketns)}
    for number, (name, properties, known, cause) in enumerate(OWN_SETTINGS, 21):
        machine = site.machine(number)
        own = {"updateNameServerAddrPeriod": READS_LIST_EACH_MS, **properties}
        broker = site.broker(name, known.format(**addrs), on=machine, properties=own)
        asked = ("--broker", f"{broker.host}:{broker.port}")
        if cause.checks == ("permission-wiped",):
            site.registered(broker, servers, on=machine)
        elif name == "broker-c":
            site.registered(broker, [servers.java], on=machine)
        said = examine(site.client, servers, *asked)
        said.names_first(cause)
        site.runs(*said.commands())
        site.registered(broker, servers, on=machine)
        eventually(
            lambda asked=asked: doctor(site.client, *map(address_of, servers), *asked).returncode == WELL,
            broker.registered_within_s,
        )
        examine(site.client, servers, *asked).is_well()
