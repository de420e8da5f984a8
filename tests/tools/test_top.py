"""`rocketns top`: rounds, changes between them, and a terminal that is refreshed in place."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from rocketns.__main__ import main
from rocketns.client.name_server import NameServer
from rocketns.tools import top as top_module
from rocketns.tools.output import TextTable, plain
from rocketns.tools.top import Top, Watched, screen
from tests.tools.scripted import Scripted, with_servers

NOBODY = "127.0.0.1:1"
ALTERNATE_SCREEN = b"\x1b[?1049h"


def rounds(first: Scripted, second: Scripted, change: dict[str, str]) -> list[list[list[str]]]:
    """The tables after two rounds, as words; ``change`` are the brokers of the second server at the second round."""
    found: list[list[list[str]]] = []

    async def test(servers: list[NameServer]) -> None:
        top = Top([Watched(server) for server in servers])
        await top.read(0)
        second.brokers = change
        await top.read(1)
        found.extend([line.split() for line in plain(table).splitlines()] for table in top.tables())

    with_servers([first, second], test)
    return found


def test_brokers_stand_side_by_side_and_changes_are_listed() -> None:
    first, second = (Scripted({"a": "10.0.0.1:1", "b": "10.0.0.2:1"}, {"T": {"a": {}}}) for _ in range(2))
    servers, changes, brokers = rounds(first, second, {"a": "10.0.0.1:1", "c": "10.0.0.3:1"})
    assert [line[1:4] for line in servers[1:]] == [["answers", "2", "1"]] * 2
    assert [line[2:] for line in changes[1:]] == [["b", "gone"], ["c", "new"]]
    assert brokers[1:] == [
        ["b", "no", "0=10.0.0.2:1", "missing"], ["c", "no", "missing", "0=10.0.0.3:1"],
        ["a", "yes", "0=10.0.0.1:1", "0=10.0.0.1:1"],
    ]  # fmt: skip


def test_a_name_server_that_does_not_answer_is_shown_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", NOBODY, "--rounds", "1"]) == 0
    assert f"connecting to {NOBODY} failed" in capsys.readouterr().out


def test_json_is_a_line_for_each_round(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", NOBODY, "--rounds", "2", "--interval", "0", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line[NOBODY]["brokers"] for line in lines] == [None, None]


def test_a_terminal_is_refreshed_in_place() -> None:
    """rich takes the alternate screen."""
    near, far = pty.openpty()
    command = [sys.executable, "-m", "rocketns", "top", NOBODY, "--rounds", "2", "--interval", "0"]
    ended = subprocess.run(command, stdout=far, stderr=far, env=os.environ | {"TERM": "xterm-256color"}, check=False)
    os.close(far)
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while data := os.read(near, 1 << 16):
            shown += data
    os.close(near)
    assert ended.returncode == 0
    assert shown.count(ALTERNATE_SCREEN) == 1
    assert b"NAME SERVER" in shown


def test_top_prints_rounds_without_rich(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(top_module.sys.stdout, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.live", None)
    with screen() as show:
        show([TextTable(("A",), [("1",)])])
        show([TextTable(("A",), [("2",)])])
    shown = capsys.readouterr()
    assert shown.out == "A\n1\nA\n2\n"
    assert "pip install 'rocketns[tools]'" in shown.err


def test_no_name_controls_the_terminal_of_rich() -> None:
    from rich.console import Console

    console = Console(width=80, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(top_module._rendered([TextTable(("A",), [("[bold]\x1b[2Jx",)])]))
    assert console.export_text().split() == ["A", "[bold]\\x1b[2Jx"]


def test_the_longest_wait_is_the_interval() -> None:
    """A name server that does not answer in time delays a round, not the others' answers."""
    slow, quick = Scripted({}, {}), Scripted({"a": "x:1"}, {})

    async def test(servers: list[NameServer]) -> None:
        waiting = asyncio.Event()
        servers[0].groups = waiting.wait  # type: ignore[method-assign, assignment]
        top = Top([Watched(server) for server in servers])
        reading = asyncio.ensure_future(top.read(0))
        while top.watched[1].groups is None:
            await asyncio.sleep(0)
        assert not reading.done()
        reading.cancel()

    with_servers([slow, quick], test)
