"""Faults in what name servers know: no automatic creation, and a broker that registers with one of two."""

from __future__ import annotations

from interop.doctor.conftest import Told
from interop.doctor.diagnosis import Cause, examine
from interop.doctor.site import Site, address_of

TOPIC, ABSENT = "Orders", "Invoices"
NO_ROUTE = "No route info of this topic: "
# A broker reads its list of name servers again each two minutes; these more often.
READS_LIST_EACH_MS = 1000
AT_SOME = ("topic-on-some-name-servers", "broker-registers-elsewhere")


def test_automatic_creation_that_is_off_is_named_where_a_topic_is_missing(site: Site, told: Told) -> None:
    """Two name servers that agree are well, and so is a broker that creates nothing; who counts on it fails."""
    servers = site.name_servers()
    broker = site.running("broker-a", servers, topics=[TOPIC], properties={"autoCreateTopicEnable": "false"})
    for words in ((), ("--topic", TOPIC, "--from-client")):
        said = examine(site.client, servers, *words)
        told(f"well: two name servers that agree {' '.join(words)}", said)
        said.is_well()

    assert NO_ROUTE + ABSENT in site.error_of_producer(servers, ABSENT)
    for each in ((servers.java,), (servers.rocketns,), servers):
        said = examine(site.client, each, "--topic", ABSENT)
        told(f"automatic creation off, {' and '.join(one.kind for one in each)}", said)
        said.names_first(Cause(("automatic-creation", "topic-missing"), (ABSENT,), (), ("updateTopic", f"-t {ABSENT}")))
        assert said.says("autoCreateTopicEnable", broker.name), said.text
    site.runs(*said.commands("mqadmin updateTopic"))
    examine(site.client, servers, "--topic", ABSENT).is_well()


def test_a_broker_at_one_of_two_name_servers_is_registered_by_the_command_that_is_printed(
    site: Site, told: Told
) -> None:
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
        told(f"broker at one of two name servers, only at {known.kind}", said)
        said.names_first(Cause(AT_SOME, (broker.name, address_of(unknown)), (), ("namesrvAddr", str(servers))))
        assert NO_ROUTE + topic in site.error_of_producer(unknown, topic)
        site.runs(*said.commands())
        site.registered(broker, servers, on=machine)
        examine(site.client, servers, "--topic", topic).is_well()
