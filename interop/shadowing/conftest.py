"""One Java name server, the shadow in front of it, and brokers of three releases, for all tests of this folder."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from interop.harness.process import Process
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from interop.messages.test_clients_languages import PROGRAMS
from interop.messages.test_clients_versions import BETWEEN
from interop.operating.test_mqadmin import DELETES_TOPICS
from interop.shadowing.shadow import Shadow

VERSIONS = (OLD, BETWEEN, CURRENT)
TOPICS = {sender: f"From-{sender.replace('.', '-')}" for sender in (CURRENT, OLD)}
STEADY = "Steady"
# Topics of tests under load: each try of a test counts the messages of its own one.
LOADED = tuple(f"{STEADY}-{name}-{number}" for name in ("switch", "half", "judge", "relay") for number in (1, 2, 3))
MESSAGES_BETWEEN = 100
UNWANTED = ("different", "missing", "skipped")
# What differed is asked again after a second.
JUDGED_WITHIN_S = 180.0
# The last pairs are asked again after a second, the judge tells its counts each second, and the status is as old.
TOLD_WITHIN_S = 3.5
ANSWERS_MAX = 5


@dataclass
class Scene:
    """The running processes; brokers by version. ``seen`` are the outcomes that tests have looked at already."""

    fleet: Fleet
    shadow: Shadow
    brokers: dict[str, Broker]
    seen: Counter[str] = field(default_factory=Counter)

    def new_outcomes(self) -> Counter[str]:
        """What was compared since the last call, when all of it is judged."""
        try:
            eventually(lambda: self.shadow.waiting() <= ANSWERS_MAX, JUDGED_WITHIN_S, every_s=0.2)
        except AssertionError:
            raise AssertionError(f"pairs wait for the judge: {self.shadow.status()}") from None
        time.sleep(TOLD_WITHIN_S)
        outcomes = self.shadow.outcomes()
        new, self.seen = outcomes - self.seen, outcomes
        return new


@dataclass
class Load:
    """A producer and a consumer that run. ``connected``: the ports of their and the brokers' connections."""

    scene: Scene
    topic: str
    producer: JavaClient
    consumer: JavaClient
    connected: set[int]

    def goes_on(self) -> None:
        """Wait for more messages; no connection was closed since the beginning."""
        self.consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
        assert self.scene.shadow.connected(*_running(self.scene, self.producer, self.consumer)) == self.connected


def _running(scene: Scene, *clients: JavaClient) -> list[Process]:
    return [one.process for one in (*clients, *scene.brokers.values())]


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Fleet(RocketnsServer, tmp_path_factory.mktemp("shadow")) as fleet:
        java = fleet.java()
        shadow = fleet.kills(Shadow(fleet.folder("shadow"), java))
        programs = [program.topic for program in PROGRAMS]
        topics = {version: [STEADY, *LOADED, *TOPICS.values()] for version in VERSIONS}
        topics[CURRENT] += programs
        brokers = {
            version: fleet.broker(
                f"broker-{version}", shadow, version=version, topics=topics[version], properties=DELETES_TOPICS
            )
            for version in VERSIONS
        }
        eventually(lambda: shadow.status()["half"] == "runs", JUDGED_WITHIN_S, every_s=0.2)
        yield Scene(fleet, shadow, brokers)


UnderLoad = Callable[[str], Load]


@pytest.fixture
def under_load(request: pytest.FixtureRequest, scene: Scene) -> Iterator[UnderLoad]:
    """Start a producer and a consumer of a topic, and wait until messages flow. They end with the test: its next try
    has none of them beside it."""
    started: list[JavaClient] = []

    def start(name: str) -> Load:
        topic = f"{STEADY}-{name}-{getattr(request.node, 'execution_count', 1)}"
        started.append(scene.fleet.producer([scene.shadow], topic, 1_000_000, pause_ms=20))
        started.append(scene.fleet.consumer([scene.shadow], topic, f"readers-{topic}"))
        producer, consumer = started
        consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
        running = _running(scene, producer, consumer)
        connected = scene.shadow.connected(*running)
        assert len(connected) >= len(running)
        return Load(scene, topic, producer, consumer, connected)

    yield start
    for client in started:
        client.kill()


@pytest.fixture
def without_difference(scene: Scene) -> Iterator[Scene]:
    """The scene; what the test did was compared, and no pair differed but by what is listed, or went unanswered."""
    scene.new_outcomes()
    yield scene
    found = scene.new_outcomes()
    assert found.total(), "nothing was compared"
    assert {name: found[name] for name in UNWANTED if found[name]} == {}, scene.shadow.status()
