"""The incidents of an audit's page compared with the truth about a synthetic fleet."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.pipeline.synthetic.cards_compared import card_verdicts

MINUTE = 60_000_000


def fault(
    kind: str, t1: int, ns: str | None, *brokers: str, windows: int = 0, optional: bool = False
) -> dict[str, Any]:
    """At minute ``t1`` for ten minutes."""
    return {
        "id": f"{kind}-{t1}", "kind": kind, "t1": t1 * MINUTE, "t2": (t1 + 10) * MINUTE, "ns": ns,
        "brokers": list(brokers), "windows": [{"optional": optional}] * windows,
    }  # fmt: skip


def card(kind: str, t1: int, ns: list[str], *brokers: str, topics: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "kind": kind, "t1": t1 * MINUTE, "t2": (t1 + 10) * MINUTE, "ns": ns, "brokers": list(brokers),
        "topic_sample": list(topics), "title": f"{kind} at {t1}",
    }  # fmt: skip


FAULTS = [
    fault("partition", 0, "n1", "a", windows=1),
    fault("lost_change", 100, "n2", "a", windows=1),
    fault("crash", 200, None, "b"),
    fault("kill", 300, "n3", windows=8),
    fault("blip", 400, "n1", "a"),
    fault("partition", 500, "n1", "a", "b", windows=2),
    fault("partition", 600, "n2", "b", windows=1, optional=True),
]
CARDS = [
    card("missing", 0, ["n1"], "a"),
    card("stale_routes", 100, ["n2"], "a"),
    card("crash", 200, ["n1", "n2", "n3"], "b"),
    card("killed", 300, ["n3"], "a", "b"),
    card("missing", 500, ["n1"], "a"),
    card("missing", 502, ["n1"], "b"),
    card("missing_topic", 700, ["n1"], topics=("typo",)),
]
TRUTH = {"faults": FAULTS, "missing": [{"topic": "typo"}]}


def wrong(cards: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [tuple(map(str, verdict)) for verdict in card_verdicts(TRUTH, cards) if not verdict.good]  # type: ignore[misc]


def test_each_fault_has_its_incident() -> None:
    assert wrong(CARDS) == []
    # The fault at minute 600 is nearly too short to count: an incident of it is right, and so is none.
    assert wrong([*CARDS, card("missing", 600, ["n2"], "b")]) == []


def changed(number: int, **values: Any) -> list[dict[str, Any]]:
    return [one | values if place == number else one for place, one in enumerate(CARDS)]


@pytest.mark.parametrize(
    ("cards", "id_"),
    [
        (changed(1, ns=["n1"]), "lost_change-100"),
        (changed(1, kind="missing"), "lost_change-100"),
        (changed(0, brokers=["b"]), "partition-0"),
        (changed(0, t1=50 * MINUTE, t2=60 * MINUTE), "partition-0"),
        (changed(2, brokers=["a"]), "crash-200"),
        (changed(3, ns=["n1", "n3"]), "kill-300"),
        (changed(5, brokers=["a"]), "partition-500"),
    ],
)
def test_an_incident_of_another_name_server_kind_broker_or_time_is_not_the_fault_s(
    cards: list[dict[str, Any]], id_: str
) -> None:
    assert ("missed", id_, "its incident") in wrong(cards)


def test_an_incident_without_a_fault_was_invented() -> None:
    assert wrong([*CARDS, card("stale_routes", 900, ["n2"], "a")]) == [("invented", "incidents", "stale_routes at 900")]
    assert wrong([*CARDS, card("missing", 400, ["n1"], "a")]) == [("invented", "incidents", "missing at 400")]
    assert wrong([*CARDS, card("killed", 300, ["n1"], "a")]) == [("invented", "incidents", "killed at 300")]


def test_topics_that_clients_asked_for_in_vain_are_compared_by_name() -> None:
    assert wrong(CARDS[:-1]) == [("missed", "incidents", "typo")]
    assert wrong([*CARDS, card("missing_topic", 800, ["n1"], topics=("other",))]) == [
        ("invented", "incidents", "other")
    ]
