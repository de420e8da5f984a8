"""Faults in topics: one broker that both name servers know and everybody reaches. It is well before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from interop.doctor.diagnosis import Cause, examine
from interop.doctor.site import Pair, Site
from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually

TOPIC, ABSENT = "Orders", "Invoices"
# What a broker is asked for all that it keeps: GET_ALL_TOPIC_CONFIG and its like.
TOPICS, GROUPS, OFFSETS = 21, 201, 43
NO_ROUTE = "No route info of this topic: "
WIPED_WITHIN_S = 240.0


class Office:
    """A site with its name servers and its broker."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.servers: Pair = site.name_servers()
        self.broker: Broker = site.running("broker-a", self.servers, topics=[TOPIC])

    def lists(self) -> Iterator[Iterable[NameServer]]:
        """Each name server by itself, and both."""
        yield from ((one,) for one in self.servers)
        yield self.servers

    def kept(self) -> list[str]:
        """The topics, consumer groups and offsets that the broker has."""
        with self.site.client.inside(), Client(self.broker.port, self.broker.host) as client:
            answers = [client.request(code) for code in (TOPICS, GROUPS, OFFSETS)]
        assert all(answer.code == 0 for answer in answers), answers
        return [(answer.body or b"").decode() for answer in answers]

    def is_well(self, topic: str) -> None:
        for servers in self.lists():
            examine(self.site.client, servers, "--topic", topic).is_well()


@pytest.fixture(scope="module")
def office(shared_site: Site) -> Office:
    return Office(shared_site)


def test_nothing_is_wrong_with_a_broker_that_is_reached_over_the_network(office: Office) -> None:
    """Well, with a topic and without. Being asked leaves no trace at the broker or at the name servers."""
    with office.site.client.inside():
        before = [views.routes(server) for server in office.servers]
    kept = office.kept()
    for servers in office.lists():
        for words in ((), ("--topic", TOPIC, "--from-client", "--client-version", "5.5.0")):
            said = examine(office.site.client, servers, *words)
            said.is_well()
    with office.site.client.inside():
        assert [views.routes(server) for server in office.servers] == before
    assert office.kept() == kept


def test_a_topic_that_was_never_created_is_created_by_the_command_that_is_printed(office: Office) -> None:
    for servers in office.lists():
        said = examine(office.site.client, servers, "--topic", ABSENT)
        said.names_first(Cause(("topic-missing",), (ABSENT,), (), ("updateTopic", "-c Shop", f"-t {ABSENT}")))
    assert ABSENT not in office.kept()[0], "asking does not create it"
    office.site.runs(*said.commands())
    office.is_well(ABSENT)


def test_a_misspelt_topic_is_named_with_the_one_that_exists(office: Office) -> None:
    for servers in office.lists():
        examine(office.site.client, servers, "--topic", "Ordres").names_first(Cause(("misspelt",), ("Ordres", TOPIC)))


def test_a_wiped_permission_is_given_back_by_the_command_that_is_printed(office: Office) -> None:
    """`mqadmin wipeWritePerm`, which operators use before they stop a broker, and forget."""
    office.site.runs(f"mqadmin wipeWritePerm -b broker-a -n {office.servers}")
    _until_permission(office, 4)
    assert NO_ROUTE + TOPIC in office.site.error_of_producer(office.servers, TOPIC)
    for servers in office.lists():
        said = examine(office.site.client, servers, "--topic", TOPIC)
        said.names_first(Cause(("permission-wiped",), ("broker-a", "permission"), (), ("addWritePerm", "-b broker-a")))
    office.site.runs(*said.commands())
    _until_permission(office, 6)
    office.is_well(TOPIC)


def _until_permission(office: Office, permission: int) -> None:
    wanted = {"broker-a": permission}
    with office.site.client.inside():
        eventually(lambda: all(views.perms(one, TOPIC) == wanted for one in office.servers), WIPED_WITHIN_S)
