"""The topics without a route that a reactor noted: whole names, a bounded table, and who replaces whom."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import Client, frame, json_header
from tests.support.inprocess import TimedServer

PLACES = 128  # SETS * WAYS of routes/missing.pxd
TOPIC_BYTES_MAX = 255
Row = tuple[str, int, int, bytes | None, int]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TimedServer]:
    """With one reactor. Its clock stands still, so that nobody but a test empties the table."""
    started = TimedServer(tmp_path, {"rocketns.reactors": 1})
    yield started
    started.stop()


def look_up(client: Client, *topics: str) -> None:
    """All of them at once."""
    frames = [frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})) for topic in topics]
    client.send(b"".join(frames))
    assert {client.receive().code for _ in topics} == {codes.TOPIC_NOT_EXIST}


def noted(server: TimedServer) -> list[Row]:
    reactors = server.reactors
    assert reactors is not None
    return server.call(reactors.drain_missing)


def another_host(server: TimedServer, client: Client) -> Client:
    """One with another number than the client's. One host in 1,024 has the same, see connections/hosts.pyx."""
    look_up(client, "a")
    [row] = noted(server)
    for last in range(2, 10):
        other = Client(server.port, source=f"127.0.0.{last}")
        look_up(other, "a")
        if noted(server)[0][4] != row[4]:
            return other
        other.close()
    raise AssertionError("all hosts have one number")


def test_lookups_of_a_topic_are_counted_until_they_are_taken(server: TimedServer) -> None:
    with server.connect() as client:
        look_up(client, "a", "b", "a")
        rows = noted(server)
        assert {row[:2] for row in rows} == {("a", 2), ("b", 1)}
        assert len({row[4] for row in rows}) == 1
        assert noted(server) == []
        look_up(client, "a")
        assert [row[:2] for row in noted(server)] == [("a", 1)]


def test_names_of_all_lengths_are_noted_whole(server: TimedServer) -> None:
    """Longer ones than any topic has are answered, too, but not noted."""
    with server.connect() as client:
        for first in range(1, TOPIC_BYTES_MAX + 20, 16):
            topics = [str(length % 10) * length for length in range(first, first + 16)]
            look_up(client, *topics)
            assert {row[0] for row in noted(server)} == {topic for topic in topics if len(topic) <= TOPIC_BYTES_MAX}


def test_a_flood_fills_the_table_and_replaces_its_own(server: TimedServer) -> None:
    flood = [f"flood-{number}" for number in range(8 * PLACES)]
    with server.connect() as client, another_host(server, client) as other:
        look_up(client, *flood)
        look_up(other, "real")
        look_up(client, *(f"more-{topic}" for topic in flood))
        rows = noted(server)
    assert len(rows) == PLACES
    assert {row[0] for row in rows} <= {"real", *flood, *(f"more-{topic}" for topic in flood)}
    assert "real" in {row[0] for row in rows}
    assert len({row[0] for row in rows}) == PLACES


def test_a_newcomer_has_the_counts_of_nobody(server: TimedServer) -> None:
    """The place of a topic that was replaced starts again."""
    with server.connect() as client:
        for start in range(0, 4 * PLACES, PLACES):
            look_up(client, *[f"flood-{number}" for number in range(start, start + PLACES)] * 2)
        assert all(row[1] <= 2 for row in noted(server))


def test_lookups_are_noted_while_the_table_is_emptied(server: TimedServer) -> None:
    """None is counted twice, and no name is torn."""
    topics = [f"topic-{number:03}-{'x' * (number % 200)}" for number in range(PLACES // 4)]

    def flood(host: str) -> None:
        with Client(server.port, source=host) as client:
            for _ in range(20):
                look_up(client, *topics)

    threads = [threading.Thread(target=flood, args=(f"127.0.0.{number}",)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    rows: list[Row] = []
    while any(thread.is_alive() for thread in threads):
        rows += noted(server)
    rows += noted(server)
    assert {row[0] for row in rows} <= set(topics)
    assert len(rows) > 1
    assert 0 < sum(row[1] for row in rows) <= len(threads) * 20 * len(topics)
