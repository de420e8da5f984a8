"""The table and the text name the figures where rocketns is worse."""

from __future__ import annotations

from benchmarks.record import Row
from benchmarks.report import costs
from benchmarks.report.costs import HEAD, LINES, behind, section
from benchmarks.report.figures import table
from benchmarks.report.markdown import text
from benchmarks.report.short import ROWS, short_table
from benchmarks.servers.kinds import DEFAULT, JAVA_SCRIPT, RUST
from tests.benchmarks.rows import WHAT, record, results


def rows_of(text: str) -> list[str]:
    """The rows of the large table, its two lines of head included."""
    lines = text.splitlines()
    return [line for line in lines[lines.index(table(HEAD, 2, [])[0]) :] if line.startswith("| ")]


def test_the_short_table_says_wins_and_losses_in_words() -> None:
    def last_cell(ours: float, javas: float) -> str:
        (row,) = (line for line in short_table(results([ours], [javas])).splitlines() if "100,000 clients" in line)
        return row.split("|")[-2].strip()

    assert last_cell(2.0, 3.0) == "1.50 times less"
    assert last_cell(3.0, 2.0) == "1.50 times more"
    assert sum(line.endswith("| - |") for line in short_table(results([2.0], [3.0])).splitlines()) == len(ROWS) - 1


def test_a_row_that_rocketns_loses_stays_with_a_ratio_below_one() -> None:
    won, lost = section(results([2.0], [3.0])), section(results([3.0], [2.0]))
    assert len(rows_of(won)) == len(rows_of(lost))
    row = next(line for line in rows_of(lost) if line.startswith(f"| {WHAT} | p99 µs |"))
    assert row.endswith("| 0.67 |")


def test_rows_that_rocketns_loses_are_named() -> None:
    assert behind(results([3.0, 3.0, 1.0], [2.0, 2.0, 2.0], java=JAVA_SCRIPT)) == (
        f"- Java, runserver.sh is better than rocketns by more than 1 % in: {WHAT} (p99 µs)."
    )
    assert "In no row" in behind(results([2.0], [3.0]))
    assert "In no row" in behind(results([2.001], [2.0]))


def test_less_throughput_is_a_loss_as_well() -> None:
    assert WHAT in behind(results([2.0], [3.0], unit="requests/s"))


def test_rust_is_named_where_it_is_better() -> None:
    run = results([3.0], [None])
    run.records["paced"].rows[0].values[RUST] = [1.0]
    assert behind(run).startswith("- Rust is better")


def test_a_figure_that_was_not_measured_has_a_row_without_values() -> None:
    rows = rows_of(section(results([2.0], [3.0])))
    assert len(rows) == 2 + sum(len(line.units) for line in LINES)
    assert all(row.count("|") == len(HEAD) + 1 for row in rows)
    assert any(row.endswith(f"{' - |' * (len(HEAD) - 2)}") for row in rows)


def test_every_row_of_requests_has_throughput_p50_p99_and_cpu() -> None:
    for line in LINES:
        if line.part in ("lookups", "paced", "registering", "storm", "topics") or len(line.units) > 1:
            said = " ".join(line.units)
            assert all(word in said for word in ("/s", "p50", "p99")), line.what
            assert "CPU" in said or "cores busy" in said, line.what


def test_the_default_is_the_first_column_of_the_page() -> None:
    assert HEAD[2] == "rocketns"


def test_the_report_keeps_a_lost_row() -> None:
    run = results([3.0], [2.0])
    run.records["paced"] = record(rows=[Row(WHAT, "p99 µs", {DEFAULT: [3.0], JAVA_SCRIPT: [2.0]})])
    assert f"| {WHAT} | p99 µs | 3.00 | 2.00 | 0.67 |" in text(run)


def test_the_page_of_costs_has_the_marks() -> None:
    assert costs.replaced(costs.PAGE.read_text("utf-8"), "new")
