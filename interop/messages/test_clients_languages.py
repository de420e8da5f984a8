"""Clients in other languages that query the name server themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.sending.programs import NPM_INSTALL, PIP_INSTALL, Program, assert_program_sends_and_receives
from interop.harness.servers import NameServer

GO = Program(
    "go", ("go",),
    ("{folder}/client",), (("go", "build", "-o", "client", "."),),
)  # fmt: skip
RUST = Program(
    "rust", ("cargo",), ("{folder}/client",),
    (("cargo", "build", "--quiet"), ("mv", "target/debug/client", "client"), ("rm", "-r", "target")),
)  # fmt: skip
PYTHON = Program(
    "python", (),
    (sys.executable, "{folder}/client.py"),
    (PIP_INSTALL,), {"PYTHONPATH": "{folder}/lib"},
)  # fmt: skip
ALI_ONS = Program(
    "node-ons", ("node", "npm"), ("node", "{folder}/client.js"), (NPM_INSTALL,),
)  # fmt: skip
NODE = Program(
    "node", ("node", "npm"), ("node", "{folder}/client.js"), (NPM_INSTALL,),
)  # fmt: skip
PROGRAMS = (GO, RUST, PYTHON, ALI_ONS, NODE)


@pytest.fixture(scope="module")
def running(
    server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[NameServer, Broker]]:
    """A name server and a broker for all of them, each with a topic of its own."""
    with Fleet(server_class, tmp_path_factory.mktemp("languages")) as fleet:
        server = fleet.name_server()
        yield server, fleet.broker("broker-a", server, topics=[program.topic for program in PROGRAMS])


@pytest.mark.parametrize("program", [program.case() for program in PROGRAMS])
def test_client_sends_and_receives(program: Program, running: tuple[NameServer, Broker], fleet: Fleet) -> None:
    """B198, B199: each finds its topic's route and reads the answer in the dialect of the version that it states."""
    server, broker = running
    assert_program_sends_and_receives(program, name_server_list(server), broker, fleet)
