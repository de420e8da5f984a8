"""A broker with so many topics that its registration is larger than a frame may be: it fails without a word."""

from __future__ import annotations

from interop.doctor.conftest import Told
from interop.doctor.diagnosis import Cause, examine
from interop.doctor.site import Site
from interop.harness import views

# Names of 118 characters, which a registration has twice: 17.5 MB.
TOPICS = 46_000
NAME = "{:05}-" + "a-topic-whose-name-is-as-long-as-names-can-be-" * 2 + "x" * 20
REFUSED = "Failed to register current broker to name server"


def test_a_registration_that_is_too_large_is_sent_in_parts_as_printed(site: Site, told: Told) -> None:
    """No name server shows the broker, so the doctor is told its address."""
    servers = site.name_servers()
    broker = site.broker("broker-a", servers, topics=(NAME.format(number) for number in range(TOPICS)))
    with site.client.inside():
        assert [views.brokers(server) for server in servers] == [{}, {}]
    assert broker.log().count(REFUSED) >= len([*servers]), "it was refused, and not only late"
    topic = NAME.format(0)
    for server in servers:
        said = examine(site.client, [server], "--topic", topic)
        told(f"too large a registration, of a broker that nobody knows, {server.kind}", said)
        said.names_first(Cause(("no-broker",), ("no broker",), (), ("--broker",)))
        said = examine(site.client, [server], "--topic", topic, "--broker", broker.address)
        told(f"too large a registration, {server.kind}", said)
        said.names_first(
            Cause(("registration-size",), ("broker-a", "16,777,216"), (broker.address,), ("enableSplitRegistration",))
        )
    site.runs(*said.commands())
    site.registered(broker, servers)
    examine(site.client, servers, "--topic", topic).is_well()
