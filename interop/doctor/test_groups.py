"""Faults in a group of a master and its slave, and in its name."""

from __future__ import annotations

from interop.doctor.conftest import Told
from interop.doctor.diagnosis import Cause, examine
from interop.doctor.site import Site
from interop.harness import views
from interop.harness.wire import eventually

TOPIC, OTHER = "Orders", "Refunds"
SLAVE = {"brokerRole": "SLAVE", "brokerId": 1}
GONE_WITHIN_S = 60.0
QUICK = ("--timeout", "2")
# Brokers here register each 10 s. One that does so each 15 s is in the tables for 5 s at least of 30, as is the other.
SELDOM = {"registerNameServerPeriod": 15_000}
WATCH = ("--watch", "30")


def test_a_slave_that_is_lost_and_a_slave_without_its_master_are_named(site: Site, told: Told) -> None:
    """Both are well first. The slave's machine loses its network, which name servers notice after two minutes; it comes
    back; the master dies."""
    servers = site.name_servers()
    there = site.machine(22)
    master = site.running("broker-a", servers, topics=[TOPIC])
    slave = site.running("broker-a", servers, on=there, properties=SLAVE)
    for each in ((servers.java,), (servers.rocketns,), servers):
        for words in ((), ("--topic", TOPIC, "--from-client")):
            said = examine(site.client, each, *words)
            told(f"well: master and slave, {' and '.join(one.kind for one in each)} {' '.join(words)}", said)
            said.is_well()

    there.unplug()
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC, "--from-client", *QUICK)
        told(f"slave whose machine is gone, {server.kind}", said)
        said.names_first(Cause(("broker-address",), ("broker-a",), ("id 1", slave.address)))
    there.plug_in()

    master.kill()
    with site.client.inside():
        eventually(
            lambda: all(views.brokers(server) == {"broker-a": {1: slave.address}} for server in servers), GONE_WITHIN_S
        )
    for server in servers:
        said = examine(site.client, [server], "--topic", TOPIC)
        told(f"slave without its master, {server.kind}", said)
        said.names_first(Cause(("slave-without-master",), ("broker-a", "master")))


def test_a_name_in_two_clusters_is_named(site: Site, told: Told) -> None:
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
            told(f"split clusters {' '.join(words)}, {server.kind}", said)
            said.names_first(cause)


def test_two_masters_of_one_name_are_named(site: Site, told: Told) -> None:
    """They take turns in the name servers' tables, at each registration, so the doctor has to look for some time: by
    itself where a topic is not on the broker that its route names, and otherwise if it is told to."""
    servers = site.name_servers()
    first = site.running("broker-a", servers, topics=[TOPIC])
    second = site.running("broker-a", servers, on=site.machine(22), topics=[OTHER], properties=SELDOM)
    cause = Cause(("two-masters",), ("broker-a", first.address, second.address), (), ("brokerName=",))
    for server, words in zip(servers, (("--topic", TOPIC, "--topic", OTHER), WATCH), strict=True):
        said = examine(site.client, [server], *words)
        told(f"two masters {' '.join(words)}, {server.kind}", said)
        said.names_first(cause)
