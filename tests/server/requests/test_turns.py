"""Turns by socket host and announced host, and of registered brokers beside strangers: time is what each has cost."""

from __future__ import annotations

from tests.server.requests.test_inbox import MS, frame, inbox, order, serve

BROKERS = {"broker1", "broker2"}


def test_more_announced_hosts_are_not_more_time() -> None:
    """One socket host announces a host for each connection; it gets as much as a host that announces none."""
    waiting = inbox()
    for number in range(40):
        waiting.submit(f"proxy/{chr(97 + number % 20)}{number}", frame())
    for _ in range(40):
        waiting.submit("one", frame())
    served = order(waiting, {})
    assert 15 <= served[:40].count("one") <= 25


def test_announced_hosts_take_turns() -> None:
    """Behind one proxy a host with many connections delays another only by its share."""
    waiting = inbox()
    for number in range(40):
        waiting.submit(f"proxy/many{number}", frame())
    for _ in range(40):
        waiting.submit("proxy/few1", frame())
    served = order(waiting, {})
    assert 15 <= served[:40].count("proxy/few1") <= 25


def test_an_announced_host_is_charged() -> None:
    """Of two hosts behind one proxy the dear one is served less."""
    waiting = inbox()
    for _ in range(30):
        waiting.submit("proxy/dear1", frame())
        waiting.submit("proxy/cheap1", frame())
    served = order(waiting, {"proxy/dear1": 10 * MS})
    assert 2 <= served[:30].count("proxy/dear1") <= 4


def test_connections_that_leave_are_passed_over() -> None:
    """Whether they announced a host or not, and whether another of their host is being served."""
    waiting = inbox()
    peers = ["proxy/x1", "proxy/x2", "proxy/y1", "proxy1", "other1", "broker1"]
    for peer in peers:
        waiting.submit(peer, frame())
    key, _ = waiting.take()
    gone = [peer for peer in peers if peer not in (key, "proxy/y1", "other1")]
    for peer in gone:
        assert len(waiting.drop(peer)) == 1
    waiting.charge(MS)
    assert sorted([key, *order(waiting, {})]) == sorted({key, "proxy/y1", "other1"})
    for peer in peers:
        waiting.submit(peer, frame())
    assert sorted(order(waiting, {})) == sorted(peers)


def test_a_broker_waits_for_all_strangers_as_for_one() -> None:
    """However many hosts they have, it gets half of the time."""
    waiting = inbox(known=BROKERS)
    for number in range(40):
        waiting.submit(f"{chr(97 + number % 20)}{number}", frame())
    for _ in range(20):
        waiting.submit("broker1", frame())
    served = order(waiting, {})
    assert 8 <= served[:20].count("broker1") <= 12


def test_brokers_take_half_of_the_time_only() -> None:
    """Dear requests of who is registered leave as much time to strangers."""
    waiting = inbox(known=BROKERS)
    for _ in range(100):
        waiting.submit("stranger", frame())
    for _ in range(10):
        waiting.submit("broker1", frame())
        waiting.submit("broker2", frame())
    served = order(waiting, {"broker1": 5 * MS, "broker2": 5 * MS})
    assert 16 <= served[:24].count("stranger") <= 22


def test_a_broker_that_was_silent_has_saved_nothing() -> None:
    """Nor has a stranger; and what one was served while the other did not wait is not held against it."""
    for first, second in (("broker1", "stranger"), ("stranger", "broker1")):
        waiting = inbox(known=BROKERS)
        for _ in range(100):
            waiting.submit(first, frame())
            serve(waiting)
        for _ in range(20):
            waiting.submit(first, frame())
            waiting.submit(second, frame())
        served = order(waiting, {})
        assert 8 <= served[:20].count(first) <= 12


def test_a_broker_that_asks_one_thing_at_a_time_pays_for_it() -> None:
    """It comes with its next dear request when strangers wait, and again they have had as much time before it goes."""
    waiting = inbox(known=BROKERS)
    for _ in range(200):
        waiting.submit("stranger", frame())
    served = []
    waiting.submit("broker1", frame())
    for _ in range(40):
        key, _ = waiting.take()
        waiting.charge(10 * MS if key == "broker1" else MS)
        served.append(key)
        if key == "broker1":
            waiting.submit("broker1", frame())
    assert 3 <= served.count("broker1") <= 5
