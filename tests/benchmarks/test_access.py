"""The benchmark of access control: what it sends is what the server was told to allow, and its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.access.__main__ import Row, table
from benchmarks.access.guarded import SIGNED, put_in_force
from benchmarks.access.servers import BESIDE, OFF, ROOT, starters
from benchmarks.loading import load
from benchmarks.loading.brokers import Shape
from tests.fast.reactor.test_moving import reactors_of
from tests.soak.live import LiveServer

TOPICS = 10
SHAPE = Shape(1, TOPICS, 1)


class Alive(LiveServer):
    """As the load programs want a server."""

    @property
    def pid(self) -> int:
        return Path("/proc/self").resolve().name  # type: ignore[return-value]

    def check_alive(self) -> None:
        """It is this process."""


@pytest.mark.parametrize("encoding", ["json-signed", "rocketmq-signed"])
def test_the_load_programs_signed_lookups_are_those_that_control_has_allowed(tmp_path: Path, encoding: str) -> None:
    with Alive(tmp_path, 1) as server, server.connect() as broker:
        broker.send(SHAPE.frame(0))
        assert broker.receive().code == 0
        server.call(lambda: put_in_force(reactors_of(server), SIGNED))
        found = load.lookups(server, connections=2, depth=2, encoding=encoding, topics=TOPICS, seconds=0)  # type: ignore[arg-type]
        allowed = reactors_of(server).allowed_lookups()
    assert found.requests == TOPICS
    assert sum(signed for _, signed in allowed) >= TOPICS


def test_every_row_stands_beside_the_first() -> None:
    first, other = Row("off, json", 1.01), Row("signed, json-signed", 1.5)
    for depth in (1, 16):
        first.cpu_us[depth], first.per_second[depth] = [1.0, 2.0, 4.0], [10.0, 1_000.0, 3_000.0]
        other.cpu_us[depth], other.per_second[depth] = [1.1, 2.4, 4.4], [20.0, 2_000.0, 4_000.0]
    first.instructions, other.instructions = 1_000.0, 1_500.0
    lines = table([first, other])
    assert "| 2.40 | 1.100 [1.100 to 1.200] | 2,000 |" in lines[3]
    assert lines[3].endswith("| 1,500 | 1.500 | 1.50 |")


def test_another_build_is_the_one_that_others_are_compared_with() -> None:
    assert next(iter(starters(None))) == OFF
    assert next(iter(starters(ROOT))) == BESIDE
