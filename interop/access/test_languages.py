"""Clients in other languages sign their lookups, each with its own fields."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.access.policies import SIGNING_BROKER, SIGNING_PROGRAM, write_policy
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.sending.programs import Program, assert_program_sends_and_receives
from interop.harness.servers import NameServer
from interop.messages.test_clients_languages import PROGRAMS

SHOWN = "signed lookups where unsigned ones are refused"


@pytest.fixture(scope="module")
def running(
    server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[NameServer, Broker]]:
    """A name server that enforces, and a broker that signs."""
    with Fleet(server_class, tmp_path_factory.mktemp("signing")) as fleet:
        server = fleet.name_server(write_policy(tmp_path_factory.mktemp("policy"), "enforce"))
        topics = [program.topic for program in PROGRAMS]
        broker = fleet.unregistered("broker-a", [server], topics=topics, properties=SIGNING_BROKER)
        server.process.wait_for("new broker registered", 120)
        yield server, broker


@pytest.mark.parametrize("program", [program.case(SHOWN) for program in PROGRAMS])
def test_client_that_signs_sends_and_receives(
    program: Program, running: tuple[NameServer, Broker], fleet: Fleet
) -> None:
    server, broker = running
    assert_program_sends_and_receives(program, name_server_list(server), broker, fleet, SIGNING_PROGRAM)
