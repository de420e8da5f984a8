"""However many faults a name server shows: the report is short, and is there in time."""

from __future__ import annotations

import json
from time import process_time

from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import Outcome
from rocketns.doctor.output.as_json import report_json
from rocketns.doctor.output.colours import Palette
from rocketns.doctor.output.text import report_text
from rocketns.doctor.running import FINDINGS_MAX, LINES_MAX, Report, run
from rocketns.fleet.group_view import GroupView
from rocketns.logtext import LINE_CHARACTERS_MAX
from rocketns.protocol.body.route import TopicRouteData, queue_data

ADDR = "10.0.0.9:9876"
BROKERS = 10_000
CPU_S_MAX = 20.0  # about 2 on a quiet machine; it took hours once


def view(broker_id: int, number: int, name: str = "c") -> GroupView:
    return GroupView(name, ((broker_id, f"10.1.{number // 256}.{number % 256}:10911"),), None, False)


def route(names: list[str], perm: int) -> TopicRouteData:
    return TopicRouteData([(name, queue_data(4, 4, perm, 0)) for name in names], [], {}, None, None)


def report_of(groups: dict[str, GroupView], perm: int = 6, asked: str = "") -> Report:
    topics = ("Orders",) if asked else ()
    routes = {"Orders": route([asked or "b0"], 6), "SELF_TEST_TOPIC": route(list(groups), perm)}
    server = NameServerFacts(ADDR, Outcome.ANSWERED, groups=groups, topics=frozenset(), routes=routes)
    return run(Facts(Options((ADDR,), topics), (server,)))


def text(report: Report) -> str:
    return report_text(report, Palette(is_on=False))


def test_a_fault_of_each_of_10_000_brokers_is_told_in_few_lines_and_in_time() -> None:
    began_s = process_time()
    report = report_of({f"b{n}": view(1, n) for n in range(BROKERS)})
    shown = text(report)
    assert process_time() - began_s < CPU_S_MAX
    assert len([one for one in report.findings if one.check == "slave-without-master"]) == FINDINGS_MAX
    assert f"slave-without-master ({BROKERS - FINDINGS_MAX})" in shown
    assert report_json(report)["findingsLeftOut"] == {"slave-without-master": BROKERS - FINDINGS_MAX}


def test_the_fault_of_the_topic_asked_for_is_never_left_out() -> None:
    report = report_of({f"b{n:05}": view(1, n) for n in range(100)}, asked="b00099")
    assert report.findings[0].sentence.startswith("The broker b00099 has no master")


def test_evidence_and_commands_of_10_000_wiped_brokers_are_cut() -> None:
    began_s = process_time()
    report = report_of({f"b{n}": view(0, n) for n in range(BROKERS)}, perm=4)
    (finding,) = [one for one in report.findings if one.check == "permission-wiped"]
    assert process_time() - began_s < CPU_S_MAX
    assert (len(finding.evidence), len(finding.commands)) == (LINES_MAX + 1, LINES_MAX + 1)
    assert finding.commands[-1] == f"# … and {BROKERS - LINES_MAX} more"


def test_a_name_of_a_megabyte_is_cut_and_no_command_with_it_is_left() -> None:
    report = report_of({"x" * (1 << 20): view(0, 1)}, perm=4)
    shown = text(report)
    assert max(map(len, shown.splitlines())) < 2 * LINE_CHARACTERS_MAX
    assert "# mqadmin addWritePerm" in shown
    assert json.loads(json.dumps(report_json(report)))
