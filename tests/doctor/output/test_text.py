"""The report as people and programs read it."""

from __future__ import annotations

import io
import json

import pytest

from rocketns.doctor.output.as_json import report_json
from rocketns.doctor.output.colours import RESET, Colour, Palette
from rocketns.doctor.output.text import report_text
from rocketns.doctor.progress import ERASE, Progress
from rocketns.doctor.running import Report
from tests.client.peers import CLOSED as REFUSING
from tests.doctor.standin import StandIn, examined, well


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def text(report: Report, *, is_on: bool = False) -> str:
    return report_text(report, Palette(is_on=is_on))


@pytest.fixture(scope="module")
def missing() -> Report:
    return examined(well(), topics=("orders",))


def test_the_first_line_is_the_likeliest_cause(missing: Report) -> None:
    first = text(missing).splitlines()[0]
    assert first == "Most likely: There is no topic orders, but Orders: only the case of letters differs."


def test_findings_are_numbered_with_how_they_are_known_and_what_mends_them(missing: Report) -> None:
    lines = text(missing).splitlines()
    (addr,) = [one.addr for one in missing.facts.name_servers]
    assert [line[:2] for line in lines if line[:1].isdigit()][:2] == ["1.", "2."]
    assert f"     {addr} lists the topic Orders (request 206)" in lines
    assert f"     mqadmin updateTopic -n {addr} -c c -t orders" in lines


def test_what_is_well_stands_in_one_line(missing: Report) -> None:
    (line,) = [line for line in text(missing).splitlines() if line.startswith("Well: ")]
    assert "name-server-reachable" in line
    assert "misspelt" not in line


def test_a_well_fleet_is_said_to_be_well_first() -> None:
    assert text(examined(well())).startswith("All is well: ")


def test_a_fault_elsewhere_is_not_called_the_cause() -> None:
    one = well(OnlyB={"broker-b": {}})
    one.topics["SELF_TEST_TOPIC"] = {"broker-a": {"perm": 4}, "broker-b": {}}
    assert text(examined(one, topics=("OnlyB",))).startswith("Nothing found here keeps clients of OnlyB from working")


def test_names_from_the_network_control_no_terminal() -> None:
    one = StandIn({"broker\x1b[2J": {1: "10.0.0.1:1\n2"}}, {"T": {}})
    report = examined(one, topics=("T",))
    assert "\x1b" not in text(report)
    assert "broker\\x1b[2J" in text(report)


def test_colours_are_closed_on_each_line(missing: Report) -> None:
    assert all(line.count("\x1b[") == 2 * line.count(RESET) for line in text(missing, is_on=True).splitlines())


def test_colours_are_for_terminals_without_no_color() -> None:
    palettes = [
        Palette.of(Terminal(), {}), Palette.of(Terminal(), {"NO_COLOR": "1"}), Palette.of(io.StringIO(), {}),
        Palette.of(Terminal(), {"TERM": "dumb"}),
    ]  # fmt: skip
    assert [palette.paint(Colour.RED, "x") != "x" for palette in palettes] == [True, False, False, False]


def test_json_has_a_status_for_each_check_and_the_requests(missing: Report) -> None:
    shown = json.loads(json.dumps(report_json(missing)))
    assert (shown["exitStatus"], shown["findings"][0]["check"]) == (1, "misspelt")
    assert shown["checks"]["misspelt"] == {"exitStatus": 1, "state": "ill"}
    assert shown["checks"]["name-server-reachable"]["exitStatus"] == 0
    assert shown["nameServers"][0]["kind"] == "java"
    (requests,) = shown["requests"]
    (sent,) = requests["sent"].values()
    assert sent["GET_BROKER_CLUSTER_INFO"] == 1
    assert requests["mostToEach"]["GET_NAMESRV_CONFIG"] == 1


def test_a_check_that_cannot_tell_has_status_2() -> None:
    shown = report_json(examined(addrs=(REFUSING,), topics=("T",)))
    assert shown["checks"]["topic-missing"]["exitStatus"] == 2
    assert "misspelt" in shown["skipped"]


def test_progress_is_one_line_that_is_erased() -> None:
    stream = Terminal()
    progress = Progress(stream)
    progress.stage("asking", 2)
    progress.end()
    assert stream.getvalue() == f"{ERASE}asking 0/2{ERASE}"
