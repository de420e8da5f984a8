"""A container of a test: what it serves, what it printed, how it ends."""

from __future__ import annotations

import contextlib
import json
import re
import signal
from dataclasses import dataclass, field
from typing import Any

from interop.docker.engine import Engine
from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually
from tests.behaviour import views

SERVED_WITHIN_S = 180.0
PORT = 9876


@dataclass(frozen=True)
class Container:
    """A container by its id. ``connect`` goes to the published port of its name server."""

    engine: Engine
    id: str
    listen_port: int = PORT
    _known_port: list[int] = field(default_factory=list, compare=False)

    def connect(self) -> Client:
        return Client(self.port())

    def port(self) -> int:
        """The port of this machine that Docker forwards to the name server's. Each start may choose another one."""
        if not self._known_port:
            shown = self.engine.docker("port", self.id, f"{self.listen_port}/tcp").splitlines()[0]
            self._known_port.append(int(shown.rpartition(":")[2]))
        return self._known_port[0]

    def wait_until_it_serves(self) -> None:
        """Wait until it answers request 106 (cluster info)."""
        eventually(self._serves_soon, SERVED_WITHIN_S, every_s=0)

    def _serves_soon(self) -> bool:
        """Whether it answers within a second. AssertionError with its output if the container has ended."""
        assert self.state()["Running"], f"it ended: {self.state()}\n{self.output()}"
        port = self.port()  # each command of docker's takes as much CPU time as hundreds of requests
        with contextlib.suppress(AssertionError):
            return bool(eventually(lambda: _is_served(port), 1.0, every_s=0.05))
        return False

    def state(self) -> dict[str, Any]:
        """Running, ExitCode, OOMKilled, Pid and Health, among others."""
        return dict(json.loads(self.engine.docker("inspect", "--format", "{{json .State}}", self.id)))

    def output(self) -> str:
        """Its standard output, then its standard error."""
        return self.engine.docker("logs", self.id, both=True)

    def wait_for_output(self, pattern: str) -> str:
        """Wait until its output has a match of the regular expression; the output."""
        eventually(lambda: re.search(pattern, self.output()), SERVED_WITHIN_S, every_s=0.1)
        return self.output()

    def execute(self, *command: str) -> str:
        return self.engine.docker("exec", self.id, *command)

    def send(self, number: signal.Signals) -> None:
        self.engine.docker("kill", f"--signal={number.name}", self.id)

    def restart(self) -> None:
        self._known_port.clear()
        self.engine.docker("restart", self.id)

    def stop(self) -> int:
        """SIGTERM, then SIGKILL after a minute; the exit status."""
        self.engine.docker("stop", "-t", "60", self.id)  # --time, or --timeout since 28
        return int(self.state()["ExitCode"])

    def wait(self) -> int:
        """Wait until it ends by itself; the exit status."""
        return int(self.engine.docker("wait", self.id))

    def remove(self) -> None:
        self.engine.docker("rm", "--force", "--volumes", self.id)


def _is_served(port: int) -> bool:
    try:
        with Client(port) as client:
            views.cluster_info(client)
    except OSError:  # Docker's proxy takes connections before anything listens in the container
        return False
    return True


def run(engine: Engine, image: str, *command: str, options: tuple[str, ...] = (), listen_port: int = PORT) -> Container:
    """``docker run --detach options image command``, with the name server's port published."""
    words = ["run", "--detach", f"--publish=127.0.0.1::{listen_port}", *options, image, *command]
    return Container(engine, engine.docker(*words).split()[-1], listen_port)


TOPIC = "Orders"


def announce(client: Client, broker: str, topics: list[str], *, address: str = "10.0.0.1:10911") -> None:
    """Register a broker; it stays as long as the connection."""
    body = register_body([topic_config(topic) for topic in topics])
    answer = client.request(codes.REGISTER_BROKER, register_ext(broker=broker, addr=address, body=body), body)
    assert answer.code == 0, answer.remark


def assert_registers_and_finds(container: Container) -> None:
    """A broker registers, and a client gets its route and the cluster's."""
    with container.connect() as broker, container.connect() as client:
        announce(broker, "broker-a", [TOPIC, "Payments"])  # a first registration of a single topic is refused
        assert views.route(client, TOPIC)["brokerDatas"][0]["brokerAddrs"] == {"0": "10.0.0.1:10911"}
        assert views.addrs(client, "broker-a") == {"0": "10.0.0.1:10911"}
