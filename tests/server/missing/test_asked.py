"""The table of topics without a route: what is noted, and who pushes out whom."""

from __future__ import annotations

import pytest

from rocketns.processor.context import Now
from rocketns.server.missing.asked import (
    FORGOTTEN_AFTER_MS,
    NEW_TOPICS_MAX,
    PEERS_MAX,
    TOPIC_CHARACTERS_MAX,
    TOPICS_MAX,
    WAITING_MAX,
    WAITING_OF_HOST_MAX,
    Asked,
    AskedTopics,
    Peer,
)


class Seconds:
    """A table, second by second."""

    def __init__(self) -> None:
        self.table = AskedTopics()
        self.routes: set[str] = set()
        self._ms = 1_000

    @property
    def now(self) -> Now:
        return Now(self._ms, 1_700_000_000_000 + self._ms)

    def note(self, topic: str, host: str = "10.0.0.1", port: int = 1, lookups: int = 1) -> None:
        self.table.note(topic, lookups, Peer(host, f"{host}:{port}"), host, self.now)

    def go_on(self, ms: int = 1_000) -> None:
        self.table.take_new(self.now)
        self.table.sweep(self.routes.__contains__, self.now)
        self._ms += ms

    @property
    def found(self) -> dict[str, Asked]:
        return {one.topic: one for one in self.table.all_missing()}


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def test_lookups_peers_and_times_are_kept(seconds: Seconds) -> None:
    seconds.note("a", port=1)
    seconds.go_on()
    began = seconds.now
    seconds.note("a", "10.0.0.2", lookups=4)
    seconds.note("a", port=2)
    seconds.go_on()
    one = seconds.found["a"]
    assert one.lookups == 6
    assert one.latest_peers() == ("10.0.0.1:2", "10.0.0.2:1")
    assert (one.since_epoch_ms, one.last_epoch_ms) == (began.epoch_ms - 1_000, began.epoch_ms)
    assert seconds.table.missing == 1


def test_the_latest_peers_are_kept(seconds: Seconds) -> None:
    for number in range(PEERS_MAX + 3):
        seconds.note("a", f"10.0.0.{number}")
    seconds.go_on()
    for number in range(PEERS_MAX + 3):
        seconds.note("a", f"10.0.0.{number}")
    assert seconds.found["a"].latest_peers() == ("10.0.0.6:1", "10.0.0.5:1", "10.0.0.4:1", "10.0.0.3:1")


def test_a_topic_that_got_a_route_is_not_missing(seconds: Seconds) -> None:
    seconds.note("a")
    seconds.go_on()
    seconds.routes.add("a")
    seconds.go_on()
    assert seconds.found == {}
    assert seconds.table.missing == 0


def test_a_topic_that_lost_its_route_again_is_missing_since_then(seconds: Seconds) -> None:
    seconds.note("a", lookups=5)
    seconds.go_on()
    said_ms = seconds.now.ms
    seconds.found["a"].was_said(seconds.now)
    seconds.routes.add("a")
    seconds.go_on()
    seconds.routes.clear()
    seconds.note("a", "10.0.0.2")
    one = seconds.found["a"]
    assert (one.lookups, one.since_epoch_ms, one.latest_peers()) == (1, seconds.now.epoch_ms, ("10.0.0.2:1",))
    assert one.said_ms == said_ms


def test_a_topic_that_nobody_asks_for_is_forgotten(seconds: Seconds) -> None:
    seconds.note("a")
    seconds.go_on(FORGOTTEN_AFTER_MS - 1)
    seconds.go_on(1)
    assert "a" in seconds.found
    seconds.go_on()
    assert seconds.found == seconds.table._owned == {}


def test_a_name_longer_than_any_topic_is_not_kept(seconds: Seconds) -> None:
    seconds.note("a" * TOPIC_CHARACTERS_MAX)
    seconds.note("b" * (TOPIC_CHARACTERS_MAX + 1))
    seconds.go_on()
    assert list(seconds.found) == ["a" * TOPIC_CHARACTERS_MAX]


def test_so_many_new_topics_are_taken_in_a_second_the_hosts_by_turns(seconds: Seconds) -> None:
    for number in range(WAITING_OF_HOST_MAX):
        seconds.note(f"flood-{number}", "10.9.9.9")
    seconds.note("real-1")
    seconds.note("real-2")
    seconds.go_on()
    assert len(seconds.found) == NEW_TOPICS_MAX
    assert {"real-1", "real-2"} <= seconds.found.keys()


def test_one_host_leaves_room_for_the_newcomers_of_others(seconds: Seconds) -> None:
    for number in range(WAITING_MAX):
        seconds.note(f"flood-{number}", "10.9.9.9")
    seconds.note("real")
    seconds.go_on()
    assert "real" in seconds.found


def test_what_waits_is_bounded(seconds: Seconds) -> None:
    for number in range(WAITING_MAX + 10):
        seconds.note(f"flood-{number}", f"10.9.{number >> 8}.{number & 255}")
    assert sum(map(len, seconds.table._waiting.values())) == len(seconds.table._waiting) == WAITING_MAX


def test_a_flood_of_one_host_pushes_out_its_own_topics(seconds: Seconds) -> None:
    seconds.note("real")
    for number in range(TOPICS_MAX + 10 * NEW_TOPICS_MAX):
        seconds.note(f"flood-{number}", "10.9.9.9")
        if number % NEW_TOPICS_MAX == 0:
            seconds.go_on()
    assert len(seconds.found) == TOPICS_MAX
    assert "real" in seconds.found
    seconds.note("real-2", "10.0.0.2")
    seconds.go_on()
    assert "real-2" in seconds.found
    assert len(seconds.found) == TOPICS_MAX


def test_the_topic_asked_for_longest_ago_leaves_first(seconds: Seconds) -> None:
    for number in range(TOPICS_MAX):
        seconds.note(f"flood-{number}", "10.9.9.9")
        if number % NEW_TOPICS_MAX == NEW_TOPICS_MAX - 1:
            seconds.go_on()
    seconds.go_on()
    assert len(seconds.found) == TOPICS_MAX
    seconds.note("flood-0", "10.9.9.9")
    seconds.note("new", "10.9.9.9")
    seconds.go_on()
    assert {"flood-0", "new"} <= seconds.found.keys()
    assert "flood-1" not in seconds.found


def test_a_topic_that_is_asked_for_again_stays_however_many_hosts_flood(seconds: Seconds) -> None:
    """Each host has one topic, so all have equally many. A client asks again after 30 s."""
    for second in range(3 * TOPICS_MAX // NEW_TOPICS_MAX):
        if second % 30 == 0:
            seconds.note("real")
        for number in range(NEW_TOPICS_MAX):
            seconds.note(f"flood-{second}-{number}", f"10.9.{second}.{number}")
        seconds.go_on()
    assert len(seconds.found) == TOPICS_MAX
    assert "real" in seconds.found


def test_of_hosts_with_equally_many_the_newcomer_loses_its_own(seconds: Seconds) -> None:
    seconds.note("first", "10.9.9.0")
    seconds.go_on()
    for number in range(1, TOPICS_MAX):
        seconds.note(f"flood-{number}", f"10.9.9.{number % 2}")
        if number % NEW_TOPICS_MAX == 0:
            seconds.go_on()
    seconds.go_on()
    assert len(seconds.found) == TOPICS_MAX
    seconds.note("more", "10.9.9.1")
    seconds.go_on()
    assert {"first", "more"} <= seconds.found.keys()


def test_the_hosts_with_the_fewest_topics_come_first(seconds: Seconds) -> None:
    """Reactors bring the hosts in the order of their hashes, which may be the same each second."""
    hosts = 4 * NEW_TOPICS_MAX
    for second in range(5):
        for number in range(hosts):
            seconds.note(f"flood-{second}-{number}", f"10.9.9.{number}")
        seconds.note("real")
        seconds.go_on()
    assert "real" in seconds.found


def test_among_equals_no_host_is_always_the_last(seconds: Seconds) -> None:
    """Each second other hosts come, all before the real one."""
    for second in range(100):
        for number in range(2 * NEW_TOPICS_MAX):
            seconds.note(f"flood-{second}-{number}", f"10.{second}.9.{number}")
        seconds.note("real")
        seconds.go_on()
    assert "real" in seconds.found


def test_a_few_hosts_leave_room_for_one_newcomer_of_each_other_host(seconds: Seconds) -> None:
    for second in range(2):
        for host in range(2 * WAITING_MAX // WAITING_OF_HOST_MAX):
            for number in range(WAITING_OF_HOST_MAX):
                seconds.note(f"flood-{second}-{host}-{number}", f"10.9.9.{host}")
        seconds.note("real")
        seconds.go_on()
    assert "real" in seconds.found
