"""What an audit says of the story, in a form in which audits of both kinds of journal and the truth can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from interop.audit.audited import Audit, Row
from interop.collecting.cluster import TOPIC
from interop.collecting.truth import Change

# The journal's times have a resolution of a millisecond, and so have those of the truth.
RESOLUTION_MS = 2


class Moment(NamedTuple):
    """A change: not yet at ``after``, and at ``until`` it had come (epoch ms)."""

    after: float
    until: float

    def meets(self, other: Moment | Change, apart_ms: float = 0.0) -> bool:
        """Whether both can be the same moment, on clocks that are apart by so much."""
        off = apart_ms + RESOLUTION_MS
        return self.after <= other.until + off and other.after <= self.until + off


class Window(NamedTuple):
    """A stretch in which name servers differed about the topic on a broker. ``values``: the permission that each name
    server showed, None where it had no queue of the broker."""

    broker: str
    values: dict[str, int | None]
    opened: Moment
    closed: Moment
    row: Row


def windows(audit: Audit) -> list[Window]:
    """The windows of the topic that are no doubt, by their beginning."""
    rows = [row for row in audit.rows("key_windows") if row["topic"] == TOPIC and row["doubt"] is None]
    return [
        Window(
            row["broker"],
            {value["ns"]: value["p"] for value in row["values"]},
            moment(row, "t1"),
            moment(row, "t2"),
            row,
        )
        for row in sorted(rows, key=lambda row: int(row["t1"]))
    ]


def moment(row: Row, name: str) -> Moment:
    """A time of a row, with how much earlier it may have been."""
    return Moment((row[name] - row[f"{name}_early"]) / 1000, row[name] / 1000)


def apart_ms(audit: Audit, names: Iterable[str]) -> float:
    """By how much the clocks of these name servers may differ, as the audit says."""
    wanted = set(names)
    return sum((row["uncertainty"] or 0) / 1000 for row in audit.rows("clock_offsets") if row["ns"] in wanted)


def departures(audit: Audit) -> list[Row]:
    """Of the two real brokers, by their time."""
    rows = [row for row in audit.rows("departures") if row["broker"] in {"broker-a", "broker-b"}]
    return sorted(rows, key=lambda row: int(row["t1"]))


def impact(audit: Audit, window: Window) -> Row:
    """The impact of a window by RocketMQ's default strategy, with two consumers in any spread."""
    found = [
        row
        for row in audit.rows("impact")
        if (row["topic"], row["strategy"], row["assignments"], row["c"]) == (TOPIC, "averagely", "model", 2)
        and row["t1"] == window.row["t1"]
    ]
    (only,) = found
    return only
