"""Addresses that brokers announce and clients cannot use."""

from __future__ import annotations

import re

from interop.doctor.conftest import Told
from interop.doctor.diagnosis import Cause, examine
from interop.doctor.network import CONTAINER
from interop.doctor.site import Pair, Site
from interop.harness.rocketmq.java import NO_TLS
from interop.harness.servers import JavaNameServer, RocketnsServer

TOPIC = "Orders"
NOBODY = "10.20.0.99"
# The switch drops what is sent there.
QUICK = ("--timeout", "2")
# A producer tries the broker three times, for 3 s each. If its 10 s are over before the last, it says only that.
UNSENT = re.compile(r"BrokersSent: \[broker-a|sendDefaultImpl call timeout")


def test_an_address_that_no_machine_has_is_named(site: Site, told: Told) -> None:
    """brokerIP1 is that of a machine which is gone."""
    servers = site.name_servers()
    site.running("broker-a", servers, topics=[TOPIC], announced=NOBODY)
    for server in servers:
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(site.client, [server], *words)
            told(f"wrong announced address {' '.join(words)}, {server.kind}", said)
            cause = Cause(("broker-address",), ("broker-a", "cannot be reached"), (f"{NOBODY}:10911",), ("brokerIP1",))
            said.names_first(cause)
    assert UNSENT.search(site.error_of_producer(servers, TOPIC, tries=1))


def test_an_address_of_a_container_is_named(site: Site, told: Told) -> None:
    """The broker is in a container with an address of Docker's bridge, which only its host reaches."""
    servers = site.name_servers()
    container = site.network.container("container", site.machine(21))
    site.running("broker-a", servers, on=container, topics=[TOPIC])
    for each in ((servers.java,), (servers.rocketns,)):
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(site.client, each, *words, *QUICK)
            told(f"container address {' '.join(words)}, {each[0].kind}", said)
            cause = Cause(("broker-address",), ("broker-a", "container"), (f"{CONTAINER}:10911",), ("brokerIP1",))
            said.names_first(cause)
    assert UNSENT.search(site.error_of_producer(servers, TOPIC, tries=1))


def test_loopback_is_well_on_one_machine_and_named_from_another(site: Site, told: Told) -> None:
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
            told(f"well: a single broker on loopback, {' and '.join(one.kind for one in each)} {' '.join(words)}", said)
            said.is_well()
    for server in servers:
        server.host = machine.address
        said = examine(machine, [server], "--topic", TOPIC)
        told(f"well: the same by the machine's own address, {server.kind}", said)
        said.is_well()
        said = examine(site.client, [server], "--topic", TOPIC)
        told(f"loopback announced to other machines, {server.kind}", said)
        said.names_first(Cause(("broker-address",), ("broker-a", "loopback"), ("127.0.0.1:10911",), ("brokerIP1",)))
    assert UNSENT.search(site.error_of_producer(servers, TOPIC, tries=1))
