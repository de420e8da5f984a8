"""What the answers of sections count: all rows of users' topics, and no others."""

from __future__ import annotations

from typing import Any

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.lookups import lookups_section
from rocketns.pipeline.report.sections.planning import ordered_section

SYSTEM = ("system", "retry")


def input_of(figures: dict[str, float] | None = None, **tables: Table) -> ReportInput:
    return ReportInput(0, 1, Verdict.FINDINGS, figures=figures or {}, tables=tables)


def moved(*kinds: str) -> list[dict[str, Any]]:
    """Rows of ORDERED_KEYS."""
    return [{"topic": f"t{number}", "kind": kind, "moved_max": 0.5} for number, kind in enumerate(kinds)]


def asked(*kinds: str) -> list[dict[str, Any]]:
    """Rows of MISSING_TOPICS."""
    return [{"topic": f"t{number}", "hour": 0, "topic_kind": kind, "miss": 9} for number, kind in enumerate(kinds)]


def test_moved_keys_are_counted_of_user_topics() -> None:
    data = input_of(ordered_keys=Table.of(moved("user", *SYSTEM)))
    assert ordered_section(data).answer.startswith("The write queues of 1 user topic changed")


def test_moved_keys_of_system_topics_alone_are_no_answer() -> None:
    data = input_of(ordered_keys=Table.of(moved(*SYSTEM)))
    assert ordered_section(data).answer == "No user topic's write queues changed for longer than 30 s."


def test_moved_keys_are_counted_in_the_whole_table() -> None:
    data = input_of({"ordered_topics": 12_000}, ordered_keys=Table.of(moved("user", *SYSTEM), 15_000))
    assert ordered_section(data).answer.startswith("The write queues of 12,000 user topics changed")


def test_hours_of_missing_topics_are_counted_in_the_whole_table() -> None:
    """The rows of system topics come last, so they are not among those that were read."""
    data = input_of({"missing_hours": 12_000}, missing_topics=Table.of(asked("user"), 15_000))
    assert lookups_section(data).answer.startswith("12,000 topic hours with")


def test_hours_of_missing_topics_leave_out_system_topics_where_no_figure_tells_them() -> None:
    data = input_of(missing_topics=Table.of(asked("user", "system", "retry")))
    assert lookups_section(data).answer.startswith("2 topic hours with")
