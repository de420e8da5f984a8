"""A deployment of several containers, as a Compose file describes it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from interop.docker.containers import Container
from interop.docker.engine import Engine
from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually
from tests.behaviour import views

FILES = Path(__file__).parent / "compose"
UP_TIMEOUT_S = 400.0


@dataclass
class Project:
    """The containers of one file. ``environment`` has the variables of the file."""

    engine: Engine
    name: str
    environment: dict[str, str]
    file: Path = field(init=False)
    command: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.file = FILES / f"{self.name}.yaml"
        self.command = [*self.engine.compose_command(), "--project-name", self._name]

    @property
    def _name(self) -> str:
        return f"rocketns-{self.name}"

    def compose(self, *words: str) -> str:
        """``docker-compose words``; its standard output."""
        command = [*self.command, "--file", str(self.file), *words]
        return self.engine.run(command, timeout_s=UP_TIMEOUT_S, environment=self.environment)

    def up(self, *options: str) -> None:
        """Make what the file describes, and change what differs from it."""
        self.compose("up", "--detach", "--no-build", *options)

    def down(self) -> None:
        """Remove its containers, networks and volumes."""
        self.compose("down", "--volumes", "--timeout", "1")

    def containers(self, service: str) -> list[Container]:
        """Also those that have stopped, by the labels that Compose gives them: docker-compose is a second of Python."""
        labels = {"project": self._name, "service": service}
        filters = [f"--filter=label=com.docker.compose.{key}={value}" for key, value in labels.items()]
        found = self.engine.docker("ps", "--all", "--quiet", "--no-trunc", *filters)
        return [Container(self.engine, one) for one in found.split()]

    def container(self, service: str) -> Container:
        """The only container of a service."""
        (only,) = self.containers(service)
        return only

    def run(self, image: str, main: str, *arguments: object) -> Container:
        """A class of ``interop/java`` in the project's network."""
        words = ["run", "--detach", f"--network={self._name}_default", image, "./run", main, *map(str, arguments)]
        return Container(self.engine, self.engine.docker(*words).split()[-1])


FLOW_WITHIN_S = 240.0


def values(client: Container, word: str) -> list[str]:
    """What its lines that begin with the word say."""
    lines = client.output().splitlines()
    return [line[len(word) :].strip() for line in lines if line.split(" ", 1)[0] == word]


def assert_each_arrives_once(project: Project, image: str, name_servers: str, topic: str, count: int) -> None:
    """A producer sends the numbers below ``count``, and a consumer prints each exactly once."""
    expected = Counter(map(str, range(count)))
    producer = project.run(image, "Producer", name_servers, topic, count, 0)
    consumer = project.run(image, "PushConsumer", name_servers, topic, "readers")
    try:
        assert producer.wait() == 0, producer.output()[-4000:]
        assert Counter(values(producer, "SENT")) == expected, producer.output()[-4000:]
        eventually(lambda: len(values(consumer, "GOT")) >= count, FLOW_WITHIN_S, every_s=0.3)
        consumer.stop()
        assert Counter(values(consumer, "GOT")) == expected, consumer.output()[-4000:]
    finally:
        producer.remove()
        consumer.remove()


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
