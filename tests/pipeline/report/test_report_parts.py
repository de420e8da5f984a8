"""The parts of the report that have no page: how values read, what a timeline draws, how incidents are folded."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.grid import CELL_MAX, Column, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.topics import topics_section
from rocketns.pipeline.report.spans import BINS, broker_rows, down_spans, merged
from tests.pipeline.report.report_sample import with_tables

S = 1_000_000
END = 400 * S


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.35, "350 ms"), (4.25, "4.2 s"), (30, "30 s"), (117, "1 min 57 s"), (3600, "1 h"), (86_399.9, "1 d"),
     (90_000, "1 d 1 h"), (None, "-")],
)  # fmt: skip
def test_durations_read_in_two_units(value: float | None, expected: str) -> None:
    assert text.seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3.0, "3"), (8 / 3, "2.667"), (1_250, "1,250"), (46_800.4, "46,800"), (0.5, "0.5"), (None, "-")],
)
def test_counts_are_whole_and_means_have_three_figures(value: float | None, expected: str) -> None:
    assert text.number(value) == expected


def test_a_part_is_never_rounded_to_100_percent() -> None:
    assert [text.percent(v) for v in (1.0, 0.99999, 0.7025, 0.0)] == ["100.00 %", "> 99.99 %", "70.25 %", "0.00 %"]


def test_a_moment_is_utc_to_the_second() -> None:
    assert text.moment(1_785_747_785_999_999) == "2026-08-03 09:03:05"


def test_queue_ids_are_put_together_by_broker_and_in_runs() -> None:
    ids = ["b:10", "b:2", "b:1", "b:0", "a:3", "x:y:0"]
    assert text.queue_ids(ids) == "a 3; b 0-2, 10; x:y 0"
    assert text.queue_ids([]) == text.queue_ids(None) == "-"


def test_views_put_name_servers_together_that_said_the_same() -> None:
    there = {"present": True, "r": 4, "w": 2, "p": 4}
    values = [
        {"ns": "n1", **there},
        {"ns": "n2", "present": False, "r": None, "w": None, "p": None},
        {"ns": "n3", **there},
    ]
    assert text.views(values) == "n1, n3: 4 read, 2 write, r-; n2: absent"


def test_a_name_shows_what_cannot_be_seen() -> None:
    assert text.visible("ordér_主题") == "ordér_主题"
    assert text.visible("a\u202eb\x00\n\ud800\u200b") == "a\\u202eb\\x00\\n\\ud800\\u200b"


@pytest.mark.parametrize("letter", ["\u05d0", "\u0661", "\ufb50"])
def test_letters_of_scripts_from_right_to_left_stay(letter: str) -> None:
    """The page isolates them."""
    assert text.visible(f"a{letter}1") == f"a{letter}1"


@pytest.mark.parametrize("sign", ["\u3164", "\uffa0", "\u2800", "\u0300", "\u20dd", "\ufe0f", "\u034f"])
def test_a_name_does_not_move_or_cover_what_stands_beside_it(sign: str) -> None:
    """Blank letters, marks over other letters; all of these count as printable."""
    assert sign.isprintable()
    assert text.visible(f"a{sign}1") == f"a\\u{ord(sign):04x}1"


def test_a_long_name_keeps_both_ends() -> None:
    assert text.shortened("a" * 20 + "z", 10) == "aaaaaa…aaz"
    assert text.shortened("short", 10) == "short"


def test_causes_of_the_journal_have_words_and_unknown_ones_stay() -> None:
    from rocketns.journal import record

    assert set(record.DOWN_CAUSES) | set(record.TPUT_CAUSES) | set(record.TDEL_CAUSES) <= text.CAUSES.keys()
    assert text.cause("something new") == "something new"


def test_a_table_knows_how_many_rows_it_has() -> None:
    rows = [{"topic": "a", "n": 1}, {"topic": "b", "n": None}]
    assert Table.of(rows) == Table(tuple(rows), 2, "")
    assert not Table.of([])
    assert Table.of([], total=3)


def test_a_grid_leaves_out_columns_without_a_value_and_cuts_cells() -> None:
    columns = (Column("a", "A"), Column("b", "B"))
    made = grid("caption", columns, Table.of([{"a": "x" * 5_000, "b": None}]))
    assert [column.key for column in made.columns] == ["a"]
    assert len(made.open_rows[0][0]) == CELL_MAX


def input_of(**tables: list[dict[str, Any]]) -> ReportInput:
    return ReportInput(0, END, Verdict.FINDINGS, tables={name: Table.of(rows) for name, rows in tables.items()})


def interval(ns: str, broker: str, t1: int, t2: int, end_cause: str) -> dict[str, Any]:
    return {"ns": ns, "broker": broker, "bid": 0, "addr": "a", "t1": t1 * S, "t2": t2 * S, "end_cause": end_cause}


def test_the_timeline_of_the_hand_computed_example() -> None:
    """Two brokers at n2, of which broker-b is gone from 185 s to 302 s."""
    intervals = [
        interval("n2", "broker-a", 1, 400, "open"),
        interval("n2", "broker-b", 2, 185, "expired"),
        interval("n2", "broker-b", 302, 400, "open"),
        interval("n1", "broker-b", 2, 400, "open"),
    ]
    incident = {"broker": "broker-b", "cause": "expired", "t1": 185 * S, "t2": 302 * S}
    first, second = broker_rows(input_of(broker_intervals=intervals, incidents=[incident]), "n2")
    assert (first.label, first.up) == ("broker-b:0", [(2 * S, 185 * S), (302 * S, END)])
    assert (first.failed, first.down, first.differ) == ([(185 * S, 302 * S)], [], [(185 * S, 302 * S)])
    assert (second.label, second.up, second.failed) == ("broker-a:0", [(S, END)], [])


@pytest.mark.parametrize("cause", ["stop", "lost", "silent", "open"])
def test_a_name_server_that_ends_says_nothing_about_its_brokers(cause: str) -> None:
    row = broker_rows(input_of(broker_intervals=[interval("n", "b", 0, 100, cause)]), "n")[0]
    assert (row.failed, row.down, row.events) == ([], [], 0)


def test_a_broker_that_unregistered_is_gone_without_a_failure() -> None:
    row = broker_rows(input_of(broker_intervals=[interval("n", "b", 0, 100, "unregister")]), "n")[0]
    assert (row.failed, row.down) == ([], [(100 * S, END)])


def test_a_name_server_is_down_between_its_boots() -> None:
    boots = [{"ns": "n", "t1": 10 * S, "t2": 100 * S}, {"ns": "n", "t1": 160 * S, "t2": END}]
    assert down_spans(input_of(ns_uptime=boots), "n") == [(0, 10 * S), (100 * S, 160 * S)]


def test_stretches_are_cut_widened_and_joined_but_never_more_than_can_be_seen() -> None:
    least = 10_000 // BINS
    assert merged([(-50, 100), (9_000, 20_000)], 0, 10_000) == [(0, 100), (9_000, 10_000)]
    assert merged([(500, 501)], 0, 10_000) == [(500, 500 + least)]
    assert merged([(0, 100), (100 + least - 1, 200)], 0, 10_000) == [(0, 200)]
    assert len(merged([(i, i + 1) for i in range(0, 10_000, 2)], 0, 10_000)) <= BINS


def test_only_uneven_topics_count_as_skewed() -> None:
    rows = [{"topic": name, "kind": "user", "skew": skew} for name, skew in (("a", 2.0), ("b", 1.5), ("c", 1.0))]
    data = with_tables(input_of(), skew=Table.of(rows, total=900))
    assert "2 unevenly" in topics_section(data).answer
    data = with_tables(data, skew=Table.of(rows[:2], total=900))
    assert "at least 2 unevenly" in topics_section(data).answer
