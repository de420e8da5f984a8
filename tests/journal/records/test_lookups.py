"""Counters of lookups by topic, by kind of client and optionally by address; never more than the limit."""

from __future__ import annotations

from rocketns.journal.lookups import LookupCounters, LookupRow

CLIENT = "10.0.0.1:5000"


def test_lookups_are_counted_by_topic_language_and_version() -> None:
    counters = LookupCounters(100, by_client=False)
    for missed in (False, False, True):
        counters.count("a", CLIENT, "JAVA", 493, missed)
    counters.count("a", "10.0.0.2:1", "JAVA", 493, False)
    counters.count("a", CLIENT, "GO", 493, False)
    counters.count("b", CLIENT, None, 0, True)
    assert counters.drain() == [
        LookupRow("a", None, "JAVA", 493, 4, 1),
        LookupRow("a", None, "GO", 493, 1, 0),
        LookupRow("b", None, None, 0, 1, 1),
    ]
    assert counters.drain() == []


def test_clients_are_told_apart_on_demand() -> None:
    counters = LookupCounters(100, by_client=True)
    counters.count("a", CLIENT, "JAVA", 1, False)
    counters.count("a", "10.0.0.2:1", "JAVA", 1, True)
    assert counters.drain() == [LookupRow("a", CLIENT, "JAVA", 1, 1, 0), LookupRow("a", "10.0.0.2:1", "JAVA", 1, 1, 1)]


def test_counters_from_elsewhere_are_added() -> None:
    counters = LookupCounters(100, by_client=False)
    counters.count("a", CLIENT, "JAVA", 1, False)
    counters.merge([("a", None, "JAVA", 1, 10, 2), ("b", CLIENT, "CPP", 2, 3, 0), ("a", None, "JAVA", 1, 1, 1)])
    assert counters.drain() == [LookupRow("a", None, "JAVA", 1, 12, 3), LookupRow("b", None, "CPP", 2, 3, 0)]


def test_lookups_beyond_the_bound_share_one_row() -> None:
    counters = LookupCounters(2, by_client=False)
    for topic in ("a", "b", "c", "d", "a"):
        counters.count(topic, CLIENT, "JAVA", 1, topic == "d")
    counters.merge([("e", None, "JAVA", 1, 5, 5), ("b", None, "JAVA", 1, 5, 0)])
    assert counters.drain() == [
        LookupRow("a", None, "JAVA", 1, 2, 0),
        LookupRow("b", None, "JAVA", 1, 6, 0),
        LookupRow("*", "*", None, None, 7, 6),
    ]
    counters.count("c", CLIENT, "JAVA", 1, False)
    assert counters.drain() == [LookupRow("c", None, "JAVA", 1, 1, 0)]


def test_text_that_no_client_has_is_not_kept() -> None:
    counters = LookupCounters(100, by_client=False)
    counters.count("x" * 256, CLIENT, "JAVA", 1, True)
    counters.count("a", CLIENT, "x" * 33, 1, True)
    assert counters.drain() == [LookupRow("*", "*", None, None, 2, 2)]


def test_a_lookup_without_topic_is_one_as_well() -> None:
    counters = LookupCounters(100, by_client=False)
    counters.count(None, CLIENT, None, 0, True)
    assert counters.drain() == [LookupRow(None, None, None, 0, 1, 1)]
