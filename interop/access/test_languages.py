"""Clients in other languages: each signs its lookups with its own fields."""

from __future__ import annotations

import pytest

from interop.access.guarded import SIGNING_PROGRAM, SIGNING_PROXY, Guarded, Way
from interop.harness.rocketmq.proxy import Proxy, proxy_jars
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.sending.programs import Program, assert_program_sends_and_receives
from interop.messages.test_clients_grpc import JAVA
from interop.messages.test_clients_languages import PROGRAMS
from interop.messages.test_clients_languages import PYTHON as CPP


def build() -> None:
    proxy_jars()


@pytest.mark.parametrize("program", [program.case() for program in PROGRAMS])
def test_client_that_signs_sends_and_receives(program: Program, guarded: Guarded, fleet: Fleet) -> None:
    servers = name_server_list(guarded.server)
    assert_program_sends_and_receives(program, servers, guarded.broker, fleet, SIGNING_PROGRAM)


@pytest.mark.parametrize("program", [JAVA.case()])
def test_client_uses_a_proxy_that_signs(program: Program, guarded: Guarded, fleet: Fleet) -> None:
    proxy = fleet.kills(Proxy(fleet.folder("proxy"), name_server_list(guarded.server), SIGNING_PROXY))
    assert_program_sends_and_receives(program, proxy.address, guarded.broker, fleet)


@pytest.mark.parametrize("program", [CPP.case()])
def test_client_without_keys_is_refused(program: Program, way: Way, fleet: Fleet) -> None:
    """The C++ client sends a signature by an empty key, which is none."""
    producer = program.start("produce", name_server_list(way.relay), program.topic, 1, fleet)
    way.was_refused("lookup")
    assert not producer.values("SENT")
