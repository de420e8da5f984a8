"""gRPC clients of RocketMQ 5 through its proxy, which asks the name server for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.proxy import Proxy, proxy_jars
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.sending.programs import NPM_INSTALL, PIP_INSTALL, Program, assert_program_sends_and_receives
from interop.harness.servers import NameServer

# Receiving through the proxy uses POP, which needs the timer wheel, which needs more than the usual 128 MB. Each second
# it would look through all of the wheel for what is not on disk yet, which takes a tenth of a core.
POPPABLE = {"timerWheelEnable": "true", "timerFlushIntervalMs": 60_000}
MEMORY = ("-XX:MaxDirectMemorySize=512m",)

JAVA = Program(
    "java-grpc", ("java", "javac", "mvn"),
    ("java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", "{folder}:{folder}/lib/*", "Grpc"),
    (("mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"),
     ("javac", "-nowarn", "-d", ".", "-cp", "lib/*", "Grpc.java")),
)  # fmt: skip
PYTHON = Program(
    "python-grpc", (),
    (sys.executable, "{folder}/client.py"), (PIP_INSTALL,), {"PYTHONPATH": "{folder}/lib"},
)  # fmt: skip
NODE = Program(
    "node-grpc", ("node", "npm"),
    ("node", "{folder}/client.js"), (NPM_INSTALL,),
)  # fmt: skip
PROGRAMS = (JAVA, PYTHON, NODE)


def build() -> None:
    proxy_jars()


@pytest.fixture(scope="module")
def running(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Broker]]:
    """A broker and a proxy that know only the name server."""
    topics = [program.topic for program in PROGRAMS]
    with Fleet(server_class, tmp_path_factory.mktemp("grpc")) as fleet:
        server = fleet.name_server()
        broker = fleet.broker("broker-a", server, topics=topics, properties=POPPABLE, options=MEMORY)
        yield fleet.kills(Proxy(fleet.folder("proxy"), name_server_list(server))), broker


@pytest.mark.parametrize("program", [program.case() for program in PROGRAMS])
def test_client_sends_and_receives_through_the_proxy(
    program: Program, running: tuple[Proxy, Broker], fleet: Fleet
) -> None:
    """B198, B216: the proxy finds the cluster and each topic's route only through the name server."""
    proxy, broker = running
    assert_program_sends_and_receives(program, proxy.address, broker, fleet)
