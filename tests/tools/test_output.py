"""What the commands print is safe for a terminal, and easy to cut."""

from __future__ import annotations

import json

import pytest

from rocketns.tools.output import WIDTH_MAX, TextTable, plain, print_json

HOSTILE = "a\x1b[2J\r\n\x9b1m\u202eb\x7f"


def test_control_characters_are_escaped() -> None:
    text = plain(TextTable(("TOPIC",), [(HOSTILE,)]))
    assert text == "TOPIC\na\\x1b[2J\\r\\n\\x9b1m\\u202eb\\x7f"


def test_columns_are_aligned_and_no_line_ends_with_blanks() -> None:
    assert plain(TextTable(("A", "B"), [("long", "x"), ("1", "")])) == "A     B\nlong  x\n1"


def test_a_table_without_rows_is_its_head() -> None:
    assert plain(TextTable(("A", "B"), [])) == "A  B"


def test_json_has_no_character_that_controls_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({HOSTILE: HOSTILE})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {HOSTILE: HOSTILE}
    assert not set(shown.replace("\n", "")) - {chr(one) for one in range(0x20, 0x7F)}


def test_one_long_name_does_not_make_every_line_long() -> None:
    """A name server of another's answers with one name of 8 MB among 100,000: that were 800 GB of blanks."""
    short, long = ("c", "b", "10.0.0.1:10911"), ("x" * 1_000_000, "b", "10.0.0.1:10911")
    text = plain(TextTable(("CLUSTER", "BROKER", "ADDRESS"), [short, long, *[short] * 1_000]))
    assert len(text) < 1_000_000 + 1_003 * (WIDTH_MAX + 40)
    lines = text.splitlines()
    assert lines[1] == lines[3] == "c".ljust(WIDTH_MAX) + "  b       10.0.0.1:10911"
    assert lines[2].endswith("x  b       10.0.0.1:10911")
