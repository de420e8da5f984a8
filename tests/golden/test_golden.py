"""rocketns does what the Java name server did in every scenario of interop/parity, as it was recorded.

`python -m interop.capture` records it anew; interop/parity plays the scenarios beside a running Java.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from interop.harness.ports import has_ipv6
from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame
from interop.parity import starts
from interop.parity.compare import PARTS, listed, shows
from interop.parity.groups import GROUPS, SCENARIOS, pair_of, play, replay, wrong
from interop.parity.servers import CLOSED, SILENT, Outcome, Side
from interop.parity.starts import STARTS, Start
from interop.parity.tape import FOLDER, load
from rocketns.shadow.comparing.frames import split


def _of(group: str) -> object:
    """A worker may have any of them."""
    return pytest.param(group, marks=pytest.mark.xdist_group(f"golden-{group}"))


@pytest.mark.parametrize("group", [_of(group) for group in GROUPS])
def test_rocketns_does_what_java_did(group: str, tmp_path: Path) -> None:
    """The rows that the scenarios name. Steps marked as different must differ, and no others."""
    for found in replay(group, tmp_path):
        assert not found, found


@pytest.mark.parametrize("one", [one for one in STARTS if has_ipv6() or not one.needs_ipv6], ids=lambda one: one.name)
def test_rocketns_starts_as_java_did(one: Start, server_class: type[NameServer], tmp_path: Path) -> None:
    """The rows that the start names."""
    ours = starts.start(one, server_class, tmp_path / "rocketns")
    found = starts.differing(one, starts.recorded()[one.name], ours)
    assert bool(found) == bool(one.differs), f"{one.name}: {found}, listed as {one.differs or 'none'}"


def test_the_list_of_differences_is_what_scenarios_and_starts_show() -> None:
    by_name = {name: shows(scenario) for name, scenario in SCENARIOS.items()}
    by_name |= {one.name: {one.differs} - {""} for one in STARTS}
    shown = {(name, one) for name, ids in by_name.items() for one in ids}
    assert shown == {(name, one.id) for one in listed().values() for name in one.scenarios}
    assert all(set(one.parts) == set(PARTS) for one in listed().values())
    assert len(SCENARIOS) == sum(map(len, GROUPS.values())), "two scenarios have one name"


Edit = Callable[[bytes], bytes]


def _sub(pattern: bytes, replacement: bytes) -> Edit:
    return lambda data: re.sub(pattern, replacement, data, flags=re.S)


def _same(data: bytes) -> bytes:
    return data


@dataclass(frozen=True)
class Fault:
    """The changes to headers and bodies of answers, to requests, and to connections."""

    name: str
    scenario: str
    header: Edit = _same
    body: Edit = _same
    request: Edit = _same
    closes_unnoticed: bool = False
    never_closes: bool = False
    closes_after_errors: bool = False


class Tampered(Side):
    """rocketns with a fault."""

    def __init__(self, side: Side, fault: Fault) -> None:
        super().__init__(side.server)
        self.fault = fault
        self.kept: list[Client] = []

    def send(self, on: str, data: bytes) -> None:
        super().send(on, self.fault.request(data))

    def receive(self, on: str, within_s: float = 1.0) -> Outcome:
        outcome = super().receive(on, within_s)
        if outcome.kind != "answer":
            return SILENT if outcome == CLOSED and self.fault.never_closes else outcome
        header, body, kind = split(outcome.frame)
        if self.fault.closes_after_errors and b'"code":0' not in header:
            self.connections[on].socket.shutdown(socket.SHUT_RDWR)
        return Outcome("answer", frame(self.fault.header(header), self.fault.body(body), kind))

    def hang_up(self, on: str, half: bool = False) -> None:
        if self.fault.closes_unnoticed:
            self.kept.append(self.connections.pop(on))
        else:
            super().hang_up(on, half)


FAULTS = (
    Fault("another remark", "unknown-topic-0", _sub(rb"for the topic: ", b"for topic: ")),
    Fault("keys in another order", "answer-shape", _sub(rb'("flag":1),("language":"JAVA")', rb"\2,\1")),
    Fault("no zone name", "zones-of-a-group", body=_sub(rb',"zoneName":"[^"]*"', b"")),
    Fault("topics counted wrong", "wipe-and-add", _sub(rb'(TopicCount":")8', rb"\g<1>7")),
    Fault("unregistration without effect", "unregister", request=_sub(rb'"code":104,', b'"code":904,')),
    Fault("close unnoticed", "close-unregisters", closes_unnoticed=True),
    Fault("malformed frame tolerated", "json-header-cut", never_closes=True),
    Fault("connection closed after an error", "controller-codes", closes_after_errors=True),
    Fault("restored permissions wrong", "routes-after-a-kill", body=_sub(b'"perm":6', b'"perm":4')),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_seen(fault: Fault, tmp_path: Path) -> None:
    """A fault between rocketns and the play; without it, the play shows what is listed."""
    scenario = SCENARIOS[fault.scenario]
    group = next(name for name, scenarios in GROUPS.items() if scenario in scenarios)
    recorded = next(one for one in load(group) if one.name == scenario.name and not one.form.binary)
    pair = pair_of(group, tmp_path, with_java=False)
    try:
        for one, seen in ((Fault("none", ""), False), (fault, True)):
            recorded.rewind(0)
            found = play(pair, scenario, recorded.form, recorded, sides=(Tampered(pair.ours, one),), within_s=1.0)
            assert bool(wrong(scenario, recorded.form, found)) == seen
    finally:
        pair.stop()


def test_provenance_names_the_server_and_its_jars() -> None:
    provenance = json.loads((FOLDER / "provenance.json").read_text("utf-8"))
    assert (provenance["rocketmq"], provenance["command"]) == ("5.5.0", "python -m interop.capture")
    assert len(provenance["jars"]) == 4


def test_no_recorded_file_names_a_folder_of_the_machine_that_recorded_it() -> None:
    for path in FOLDER.glob("*.txt"):
        assert not re.search(r"(?<![\w:/.])/(tmp|home|root|Users|var)/", path.read_text("utf-8")), path.name
