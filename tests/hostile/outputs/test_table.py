"""docs/limits.md says of each output what the other tests of this folder measure."""

from __future__ import annotations

from rocketns.journal import buffer, journal, record
from rocketns.logs import FILE_BYTES_MAX, FILES_KEPT_MAX, WAITING_CHARACTERS_MAX
from rocketns.logtext import LINE_CHARACTERS_MAX
from rocketns.server.fleet import sides
from rocketns.server.publishing import eventlog
from tests.check.source import ROOT
from tests.hostile.outputs.table import (
    ANSWER_FACTOR,
    API_BYTES,
    JOURNAL_FACTOR,
    LOG_BYTES,
    METRIC_BYTES,
    STREAM_BYTES,
)

ROWS = {
    "answer": f"{ANSWER_FACTOR} bytes in each answer that has it",
    "journal": f"{JOURNAL_FACTOR} bytes when it is registered, and as many in each snapshot",
    "log": f"{LOG_BYTES:,} bytes a request",
    "API": f"{API_BYTES >> 10} KiB an answer",
    "stream": f"{STREAM_BYTES >> 10} KiB a message",
    "metric": f"{METRIC_BYTES >> 10} KiB a scrape",
    "page": "0 bytes",
}
SECTION = "\n## What one byte from a stranger can become\n"


def section() -> str:
    text = (ROOT / "docs" / "limits.md").read_text("utf-8")
    return text.partition(SECTION)[2].partition("\n## ")[0]


def rows() -> dict[str, list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section().splitlines() if line[:1] == "|"
    ]
    return {first: rest for first, *rest in cells[2:]}


def test_each_output_has_a_row_with_the_figure_that_is_measured() -> None:
    assert {output: cells[0] for output, cells in rows().items()} == ROWS


def test_each_row_says_what_bounds_it_and_who_pays() -> None:
    assert all(len(cells) == 3 and all(cells) for cells in rows().values())


def test_the_bounds_are_those_of_the_code() -> None:
    told, journal_row, log_row = section(), rows()["journal"][1], rows()["log"]
    for bound in (f"{buffer.AT_ONCE_BYTES_MAX >> 20} MiB", f"{journal.STEP_BYTES >> 10} KiB",
                  f"{buffer.LARGE_BYTES >> 10} KiB"):  # fmt: skip
        assert bound in journal_row
    for bound in (f"{eventlog.TOPIC_LINES_MAX} lines", f"{eventlog.TOPIC_CHARACTERS_MAX:,} characters",
                  f"{LINE_CHARACTERS_MAX:,} characters", f"{WAITING_CHARACTERS_MAX >> 20} MiB"):  # fmt: skip
        assert bound in log_row[1]
    assert f"{FILES_KEPT_MAX + 1} files of {FILE_BYTES_MAX >> 20} MiB" in log_row[2]
    for bound in (record.VALUE_CHARS_IN_RECORD_MAX, record.FILTER_CHARS_IN_RECORD_MAX, sides.SIDE_CHARACTERS_MAX):
        assert f"{bound:,}" in told
