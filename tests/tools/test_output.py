"""What the commands print is safe for a terminal, and easy to cut."""

from __future__ import annotations

import json

import pytest

from rocketns.tools.output import Table, plain, print_json

HOSTILE = "a\x1b[2J\r\n\x9b1m\u202eb\x7f"


def test_control_characters_are_escaped() -> None:
    text = plain(Table(("TOPIC",), [(HOSTILE,)]))
    assert text == "TOPIC\na\\x1b[2J\\r\\n\\x9b1m\\u202eb\\x7f"


def test_columns_are_aligned_and_no_line_ends_with_blanks() -> None:
    assert plain(Table(("A", "B"), [("long", "x"), ("1", "")])) == "A     B\nlong  x\n1"


def test_a_table_without_rows_is_its_head() -> None:
    assert plain(Table(("A", "B"), [])) == "A  B"


def test_json_has_no_character_that_controls_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({HOSTILE: HOSTILE})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {HOSTILE: HOSTILE}
    assert not set(shown.replace("\n", "")) - {chr(one) for one in range(0x20, 0x7F)}
