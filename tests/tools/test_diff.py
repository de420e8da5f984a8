"""`rocketns diff` and `rocketns top`: what counts as a difference, and what a terminal shows of it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from copy import deepcopy

import pytest

from interop.harness import codes
from rocketns.fleet.comparing import FactKind, Item
from rocketns.tools import diff as diff_module
from rocketns.tools.diff import Comparison, cell, compared, detailed
from rocketns.tools.output import WIDTH_MAX, TextTable, plain, print_json
from rocketns.tools.top import CLEAR, Top, Watched
from tests.tools.scripted import Scripted, name_servers

SAME = Scripted({"a": "10.0.0.1:1", "b": "10.0.0.2:1"}, {"T": {"a": {}, "b": {}}, "U": {"b": {}}}, {"T": "a:4"})


def changed(**parts: object) -> Scripted:
    other = Scripted(*deepcopy((SAME.brokers, SAME.topics, SAME.order)))
    for name, value in parts.items():
        setattr(other, name, value)
    return other


async def outcome(first: Scripted, second: Scripted, settle_s: float = 0) -> Comparison:
    async with name_servers(first, second) as servers:
        return await compared(servers, settle_s)


@pytest.mark.parametrize(
    ("other", "item"),
    [
        (changed(brokers={"a": "10.0.0.1:1"}), Item(FactKind.BROKER, "b")),
        (changed(brokers={"a": "10.0.0.1:1", "b": "10.0.0.9:1"}), Item(FactKind.BROKER, "b")),
        (changed(topics={"T": {"a": {}, "b": {}}}), Item(FactKind.TOPIC, "U")),
        (changed(topics={"T": {"a": {}}, "U": {"b": {}}}), Item(FactKind.TOPIC, "T")),
        (changed(topics={"T": {"a": {}, "b": {"perm": 4}}, "U": {"b": {}}}), Item(FactKind.TOPIC, "T")),
        (changed(order={"T": "a:8"}), Item(FactKind.ORDER, "T")),
        (changed(order={}), Item(FactKind.ORDER, "T")),
    ],
    ids=["broker missing", "other address", "topic missing", "broker of a topic", "permission", "order", "no order"],
)
async def test_a_difference_is_named(other: Scripted, item: Item) -> None:
    assert (await outcome(SAME, other)).lasting == [item]
    assert (await outcome(other, SAME)).lasting == [item]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_module, "LOOK_EVERY_S", 0.0)


async def settled_after(looks: int, other: Scripted) -> Comparison:
    """The time to settle is over once the topic T was looked up so often: the clock of the loop goes on then."""
    noted = other.at_request

    def at_request(code: int) -> None:
        noted(code)
        if other.looked_up.count("T") == looks:
            loop = asyncio.get_running_loop()
            time = loop.time
            loop.time = lambda: time() + 1.0  # type: ignore[method-assign]

    other.at_request = at_request
    return await outcome(SAME, other, settle_s=1.0)


async def test_a_difference_that_disappears_is_not_reported() -> None:
    """A broker registers at the second name server a little later than at the first."""
    late = changed(brokers={"a": "10.0.0.1:1"}, topics={"T": {"a": {}}})
    requests: list[int] = []

    def register(code: int) -> None:
        requests.append(code)
        if requests.count(codes.GET_BROKER_CLUSTER_INFO) == 4:
            late.brokers, late.topics = SAME.brokers, SAME.topics

    late.at_request = register
    found = await outcome(SAME, late, settle_s=30)
    assert found.lasting == []
    assert found.settled == [Item(FactKind.BROKER, "b"), Item(FactKind.TOPIC, "T"), Item(FactKind.TOPIC, "U")]


async def test_a_lasting_difference_is_reported_even_if_it_changes() -> None:
    other = changed(topics={"T": {"a": {}, "b": {"perm": 4}}, "U": {"b": {}}})
    other.at_request = lambda _code: other.topics["T"]["b"].update(perm=len(other.looked_up) % 4)
    assert (await settled_after(5, other)).lasting == [Item(FactKind.TOPIC, "T")]


async def test_only_what_differs_is_read_again() -> None:
    other = changed(topics={"T": {"a": {}}, "U": {"b": {}}})
    asked: list[int] = []
    other.at_request = asked.append
    await settled_after(5, other)
    assert asked.count(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == asked.count(codes.GET_BROKER_CLUSTER_INFO) == 1
    assert other.looked_up.count("U") == 1 < other.looked_up.count("T")


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (codes.GET_BROKER_CLUSTER_INFO, b"<html>"),
        (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, 1),
        (codes.GET_ROUTEINFO_BY_TOPIC, b"[]"),
        (codes.GET_ROUTEINFO_BY_TOPIC, b'{"queueDatas":[1]}'),
        (codes.GET_ROUTEINFO_BY_TOPIC, 1),
        (codes.GET_KVLIST_BY_NAMESPACE, b"1"),
    ],
)
async def test_a_name_server_that_cannot_be_read_is_named(code: int, answer: bytes | int) -> None:
    other = changed(wrong={code: answer})
    with pytest.raises(ExceptionGroup) as raised:
        await outcome(SAME, other)
    (error,) = raised.value.exceptions
    assert "cannot be read: it" in str(error)


async def test_more_topics_than_the_bound_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_module, "TOPICS_MAX", 1)
    with pytest.raises(ExceptionGroup):
        await outcome(SAME, SAME)


async def test_only_the_differing_brokers_of_a_topic_are_shown() -> None:
    other = changed(topics={"T": {"a": {}, "b": {"perm": 4}}})
    async with name_servers(SAME, other) as servers:
        found = await compared(servers, 0)
        rows = await detailed(servers, found.latest, found.lasting)
        shown = [[cell(views[server.addr]) for server in servers] for _, views in rows]
    assert shown == [["b r8 w8 perm 6", "b r8 w8 perm 4"], ["present", "missing"]]


NOBODY = "127.0.0.1:1"


async def rounds(first: Scripted, second: Scripted, change: dict[str, str]) -> list[list[list[str]]]:
    """The tables after two rounds, as words; ``change`` are the brokers of the second server at the second round."""
    async with name_servers(first, second) as servers:
        top = Top([Watched(server) for server in servers])
        await top.read(0)
        second.brokers = change
        await top.read(1)
        tables = [part for part in top.report() if isinstance(part, TextTable)]
        return [[line.split() for line in plain(table).splitlines()] for table in tables]


async def test_brokers_stand_side_by_side_and_changes_are_listed() -> None:
    first, second = (Scripted({"a": "10.0.0.1:1", "b": "10.0.0.2:1"}, {"T": {"a": {}}}) for _ in range(2))
    servers, changes, brokers = await rounds(first, second, {"a": "10.0.0.1:1", "c": "10.0.0.3:1"})
    assert [line[1:4] for line in servers[1:]] == [["answers", "2", "1"]] * 2
    assert [line[2:] for line in changes[1:]] == [["b", "gone"], ["c", "new"]]
    assert brokers[1:] == [
        ["b", "no", "0=10.0.0.2:1", "missing"], ["c", "no", "missing", "0=10.0.0.3:1"],
        ["a", "yes", "0=10.0.0.1:1", "0=10.0.0.1:1"],
    ]  # fmt: skip


def test_a_terminal_is_refreshed_in_place() -> None:
    """Each round takes the place of the one before, and no more lines than the terminal has."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 40, 0, 0))
    command = [sys.executable, "-m", "rocketns", "top", NOBODY, "--rounds", "2", "--interval", "0"]
    environment = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    ended = subprocess.run(command, stdout=far, stderr=far, env=environment | {"TERM": "xterm-256color"}, check=False)
    os.close(far)
    shown = b""
    with suppress(OSError):  # the end of a terminal
        while data := os.read(near, 1 << 16):
            shown += data
    os.close(near)
    assert ended.returncode == 0
    before, *rounds = shown.split(CLEAR.encode())
    assert (before, len(rounds)) == (b"", 2)
    for one in rounds:
        assert one.startswith(b"NAME SERVER")
        assert one.count(b"\n") == 4
        assert max(map(len, one.split(b"\r\n"))) <= 40


HOSTILE = "a\x1b[2J\r\n\x9b1m\u202eb\x7f"


def test_control_characters_are_escaped() -> None:
    text = plain(TextTable(("TOPIC",), [(HOSTILE,)]))
    assert text == "TOPIC\na\\x1b[2J\\r\\n\\x9b1m\\u202eb\\x7f"


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
