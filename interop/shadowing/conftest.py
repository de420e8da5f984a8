"""One Java name server, the shadow in front of it, and brokers of three releases, for all tests of this folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import CURRENT, OLD
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
UNWANTED = ("different", "missing")
# What differed is asked again after a second.
JUDGED_WITHIN_S = 60.0


@dataclass
class Scene:
    """The running processes; brokers by version. ``seen`` are the outcomes that tests have looked at already."""

    fleet: Fleet
    shadow: Shadow
    brokers: dict[str, Broker]
    seen: Counter[str] = field(default_factory=Counter)

    def new_outcomes(self) -> Counter[str]:
        """What was compared since the last call, when all of it is judged."""
        eventually(lambda: self.shadow.status()["waiting"] == 0, JUDGED_WITHIN_S, every_s=0.2)
        outcomes = self.shadow.outcomes()
        new, self.seen = outcomes - self.seen, outcomes
        return new


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with Fleet(RocketnsServer, tmp_path_factory.mktemp("shadow")) as fleet:
        java = fleet.java()
        shadow = fleet.kills(Shadow(fleet.folder("shadow"), java))
        programs = [program.topic for program in PROGRAMS]
        topics = {version: [STEADY, *TOPICS.values()] for version in VERSIONS}
        topics[CURRENT] += programs
        brokers = {
            version: fleet.broker(
                f"broker-{version}", shadow, version=version, topics=topics[version], properties=DELETES_TOPICS
            )
            for version in VERSIONS
        }
        yield Scene(fleet, shadow, brokers)


@pytest.fixture
def without_difference(scene: Scene) -> Iterator[Scene]:
    """The scene; what the test did was compared, and no pair differed but by what is listed, or went unanswered."""
    scene.new_outcomes()
    yield scene
    found = scene.new_outcomes()
    assert found.total(), "nothing was compared"
    assert {name: found[name] for name in UNWANTED if found[name]} == {}, scene.shadow.status()
