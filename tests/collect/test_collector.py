"""What the name servers of one collector tell one another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rocketns.collect.collector import Collector
from rocketns.collect.names import parse_names
from rocketns.collect.polling.upstream import Phase, Upstream
from rocketns.collect.settings import Settings
from rocketns.protocol.body.route import BrokerData
from tests.collect.polling.test_losses import route
from tests.collect.polling.virtual import VirtualTime, now_ms


def on_three(folder: Path, test: Callable[[Collector, list[Upstream]], None]) -> None:
    """Run a test with a collector that has asked nobody yet."""

    async def running() -> None:
        collector = Collector(Settings(parse_names("a:1,b:1,c:1"), str(folder)), now_ms)
        test(collector, collector.upstreams)

    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        runner.run(running())


def test_topics_of_a_broker_are_those_that_the_others_show(tmp_path: Path) -> None:
    def test(collector: Collector, all_three: list[Upstream]) -> None:
        for upstream, topic in zip(all_three, ("A", "B", "C"), strict=True):
            upstream.observed.groups({"x": BrokerData("c", "x", {0: "10.0.0.1:1"})})
            upstream.observed.route(topic, route("x"))
        assert set(collector.topics_elsewhere(all_three[0], "x")) == {"B", "C"}
        assert list(collector.topics_elsewhere(all_three[0], "y")) == []

    on_three(tmp_path, test)


@pytest.mark.parametrize("phase", Phase)
def test_a_topic_that_changed_is_suspected_at_the_others(tmp_path: Path, phase: Phase) -> None:
    """Not at one that is lost: it is read whole, or in a round, when it answers again."""

    def test(collector: Collector, all_three: list[Upstream]) -> None:
        for upstream in all_three:
            upstream.phase = phase
        collector.suspect_elsewhere(all_three[0], ["T"])
        asked = [upstream.rounds.next(0.0) for upstream in all_three]
        assert asked == ([None, None, None] if phase is Phase.LOST else [None, "T", "T"])

    on_three(tmp_path, test)
