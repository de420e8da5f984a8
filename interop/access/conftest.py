"""One name server and one broker for all tests with keys in this folder: the server enforces, and the broker signs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.access.guarded import SIGNING_BROKER, STRAY_TOPIC, TOPIC, Guarded, Way, has_registered, write_policy
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.messages.test_clients_grpc import JAVA, MEMORY, POPPABLE
from interop.messages.test_clients_languages import PROGRAMS

TOPICS = [TOPIC, STRAY_TOPIC, *(program.topic for program in (*PROGRAMS, JAVA))]
# The broker is in this zone, and signs that it is.
IN_A_ZONE = ("-Drocketmq.zone=zone-a", "-Drocketmq.zone.mode=true")


HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before each file becomes a group of its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files share a name server and a broker."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.xdist_group("access"))


@pytest.fixture(scope="package")
def guarded(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with Fleet(server_class, tmp_path_factory.mktemp("guarded")) as fleet:
        policy = fleet.folder("policy")
        server = fleet.name_server(write_policy(policy, "enforce"))
        properties, options = SIGNING_BROKER | POPPABLE, MEMORY + IN_A_ZONE
        broker = fleet.unregistered("broker-a", [server], topics=TOPICS, properties=properties, options=options)
        has_registered(broker, server)
        yield Guarded(server, broker, policy)


@pytest.fixture
def way(guarded: Guarded, fleet: Fleet) -> Way:
    """To the name server with keys, from an address that only this test has."""
    return Way.to(guarded.server, fleet)
