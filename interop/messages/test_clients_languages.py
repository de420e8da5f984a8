"""Clients in other languages that query the name server themselves."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator

import pytest

from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.sending.programs import NPM_INSTALL, PIP_INSTALL, Program, assert_program_sends_and_receives
from interop.harness.servers import NameServer

SHOWN = "ordinary messages, producer and push consumer"
NO_WHEEL = "" if (sys.platform, platform.machine()) == ("linux", "x86_64") else "its wheels are for Linux on x86_64"

GO = Program(
    "Go", "`github.com/apache/rocketmq-client-go/v2`", "2.1.2", "go", ("go",),
    ("{folder}/client",), (("go", "build", "-o", "client", "."),),
)  # fmt: skip
RUST = Program(
    "Rust", "`rocketmq-client-rust`", "1.0.0", "rust", ("cargo",), ("{folder}/client",),
    (("cargo", "build", "--quiet"), ("mv", "target/debug/client", "client"), ("rm", "-r", "target")),
)  # fmt: skip
PYTHON = Program(
    "Python (and C++)", "`rocketmq`, whose wheel holds the C++ client's librocketmq", "0.4.4", "python", (),
    (sys.executable, "{folder}/client.py"),
    (PIP_INSTALL,), {"PYTHONPATH": "{folder}/lib"}, NO_WHEEL,
)  # fmt: skip
ALI_ONS = Program(
    "Node", "`ali-ons`", "3.12.0", "node-ons", ("node", "npm"), ("node", "{folder}/client.js"), (NPM_INSTALL,),
)  # fmt: skip
NODE = Program(
    "Node", "`rocketmq`", "2.0.1", "node", ("node", "npm"), ("node", "{folder}/client.js"), (NPM_INSTALL,),
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


@pytest.mark.parametrize("program", [program.case(SHOWN) for program in PROGRAMS])
def test_client_sends_and_receives(program: Program, running: tuple[NameServer, Broker], fleet: Fleet) -> None:
    """B198, B199: each finds its topic's route and reads the answer in the dialect of the version that it states."""
    server, broker = running
    assert_program_sends_and_receives(program, name_server_list(server), broker, fleet)
