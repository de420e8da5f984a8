"""The incidents that the page lists compared with the truth: each fault is said of the name server and the brokers that
it was at. Plain values, no Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.pipeline.synthetic.verdicts import Verdict, invented, outcome, sets

Row = Mapping[str, Any]

# The kind of a fault's incident. One broker at one name server, single topics, a broker everywhere, a name server.
KINDS = {
    "partition": "missing", "flap": "flap", "lost_change": "stale_routes", "lost_deletion": "stale_routes",
    "crash": "crash", "silent": "dead", "restart": "restarted", "kill": "killed",
}  # fmt: skip
OF_NAME_SERVER = ("restart", "kill")
EVERYWHERE = ("crash", "silent")
ASKED_FOR = "missing_topic"
# Clocks are corrected by an estimate, and a killed name server's end is its last record.
TOLERANCE_US = 90_000_000


def card_verdicts(truth: Mapping[str, Any], cards: Sequence[Row]) -> Iterator[Verdict]:
    """``cards``: the lines of incidents.jsonl. A verdict for each fault that shows, then for every other card."""
    left = [card for card in cards if card["kind"] != ASKED_FOR]
    for fault in truth["faults"]:
        if fault["kind"] in KINDS and _shows(fault):
            own = [card for card in left if card["kind"] == KINDS[fault["kind"]] and _may_be_of(card, fault)]
            left = [card for card in left if card not in own]
            yield Verdict(outcome(_names_all(own, fault)), fault["id"], "its incident")
    asked = {topic for card in cards if card["kind"] == ASKED_FOR for topic in card["topic_sample"]}
    yield from sets("incidents", {row["topic"] for row in truth["missing"]}, asked)
    yield from (invented("incidents", card["title"]) for card in left if not _may_be(card, truth["faults"]))


def _shows(fault: Row) -> bool:
    always = (*OF_NAME_SERVER, *EVERYWHERE)
    return fault["kind"] in always or any(not window["optional"] for window in fault["windows"])


def _may_be_of(card: Row, fault: Row) -> bool:
    """Whether it is at the fault's time, and of no other name server or broker."""
    here = card["t1"] <= fault["t2"] + TOLERANCE_US and card["t2"] >= fault["t1"] - TOLERANCE_US
    at = fault["ns"] is None or card["ns"] == [fault["ns"]]
    return bool(here and at and (fault["kind"] in OF_NAME_SERVER or {*card["brokers"]} <= {*fault["brokers"]}))


def _names_all(cards: Sequence[Row], fault: Row) -> bool:
    if fault["kind"] in OF_NAME_SERVER:
        return len(cards) == 1
    return bool(cards) and {broker for card in cards for broker in card["brokers"]} == {*fault["brokers"]}


def _may_be(card: Row, faults: Sequence[Row]) -> bool:
    """Whether it may show a fault with a window so short that the audit may leave it out."""
    return any(_may_be_of(card, fault) for fault in faults if any(window["optional"] for window in fault["windows"]))
