"""The report as people and programs read it; the command and its arguments; how addresses are reached."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from interop.harness import codes, payloads
from interop.harness.servers import NameServer, RocketnsServer
from rocketns.__main__ import main
from rocketns.doctor.arguments import addresses, build, options_of
from rocketns.doctor.asking.connecting import UnreachedError, resolve, scope_of
from rocketns.doctor.facts import DoctorOptions, FleetFacts, IpScope, NameServerFacts, Reaction
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.output import report_json, report_text
from rocketns.doctor.report import CHECKS, FINDINGS_MAX, LINES_MAX, Report, ranked, run
from rocketns.errors import RocketnsError
from rocketns.fleet.group_view import GroupView
from rocketns.logs import LINE_CHARACTERS_MAX
from rocketns.protocol.body.route import TopicRouteData, queue_data
from tests.client.peers import CLOSED as REFUSING
from tests.doctor.counting import FakeNameServer
from tests.doctor.examining import examined
from tests.doctor.page import EXAMPLES, PAGES, TOPIC, fleet, headings, written


def test_each_check_has_an_example() -> None:
    assert EXAMPLES.keys() == {check.name for check in CHECKS}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_fault_of_an_example_is_named_first(name: str) -> None:
    """Or, where it is no reason for what clients meet, at least."""
    found = [one.check for one in run(EXAMPLES[name]).of(Health.ILL)]
    assert found[0] == name


def test_a_fleet_without_a_fault_is_well() -> None:
    assert run(fleet(topic=TOPIC)).of(Health.ILL) == []


@pytest.mark.parametrize("language", PAGES)
def test_the_page_has_what_the_code_says(language: str) -> None:
    assert headings(language) == [check.name for check in CHECKS]
    assert PAGES[language].read_text("utf-8") == written(language), "python -m tests.doctor.page writes it again"


FIRST, LAST = CHECKS[0].name, CHECKS[-1].name


def in_order(*findings: Diagnosis) -> list[str]:
    return [one.sentence for one in ranked(findings)]


def test_what_is_wrong_comes_before_what_cannot_be_told() -> None:
    unknown, ill = (Diagnosis(state.name, state=state, check=FIRST) for state in (Health.UNKNOWN, Health.ILL))
    assert in_order(unknown, ill) == ["ILL", "UNKNOWN"]


def test_what_explains_more_comes_first_whatever_its_place_in_the_table() -> None:
    part = Diagnosis("part", check=FIRST, weight=Weight.PARTLY)
    whole = Diagnosis("whole", check=LAST, weight=Weight.EXPLAINS)
    assert in_order(part, whole) == ["whole", "part"]


def test_a_cause_comes_before_what_follows_from_it_though_it_weighs_less() -> None:
    cause = Diagnosis("cause", check=FIRST, weight=Weight.PARTLY)
    other = Diagnosis("other", check="other", weight=Weight.PRECISELY)
    effect = Diagnosis("effect", check=LAST, weight=Weight.EXPLAINS, follows=(FIRST,))
    assert in_order(effect, cause, other) == ["other", "cause", "effect"]


ADDR = "10.0.0.9:9876"
BROKERS = 2_000


def view(broker_id: int, number: int, name: str = "c") -> GroupView:
    return GroupView(name, ((broker_id, f"10.1.{number // 256}.{number % 256}:10911"),), None, False)


def route(names: list[str], perm: int) -> TopicRouteData:
    return TopicRouteData([(name, queue_data(4, 4, perm, 0)) for name in names], [], {}, None, None)


def report_of(groups: dict[str, GroupView], perm: int = 6, asked: str = "") -> Report:
    topics = ("Orders",) if asked else ()
    routes = {"Orders": route([asked or "b0"], 6), "SELF_TEST_TOPIC": route(list(groups), perm)}
    server = NameServerFacts(ADDR, Reaction.ANSWERED, groups=groups, topics=frozenset(), routes=routes)
    return run(FleetFacts(DoctorOptions((ADDR,), topics), (server,)))


def test_a_fault_of_each_of_many_brokers_is_told_in_few_lines() -> None:
    report = report_of({f"b{n}": view(1, n) for n in range(BROKERS)})
    shown = text(report)
    assert len([one for one in report.findings if one.check == "slave-without-master"]) == FINDINGS_MAX
    assert f"slave-without-master ({BROKERS - FINDINGS_MAX})" in shown
    assert report_json(report)["findingsLeftOut"] == {"slave-without-master": BROKERS - FINDINGS_MAX}


def test_the_fault_of_the_topic_asked_for_is_never_left_out() -> None:
    report = report_of({f"b{n:05}": view(1, n) for n in range(100)}, asked="b00099")
    assert report.findings[0].sentence.startswith("The broker b00099 has no master")


def test_evidence_and_commands_of_many_wiped_brokers_are_cut() -> None:
    report = report_of({f"b{n}": view(0, n) for n in range(BROKERS)}, perm=4)
    (finding,) = [one for one in report.findings if one.check == "permission-wiped"]
    assert (len(finding.evidence), len(finding.commands)) == (LINES_MAX + 1, LINES_MAX + 1)
    assert finding.commands[-1] == f"# … and {BROKERS - LINES_MAX} more"


def test_a_name_of_a_megabyte_is_cut_and_no_command_with_it_is_left() -> None:
    report = report_of({"x" * (1 << 20): view(0, 1)}, perm=4)
    shown = text(report)
    assert max(map(len, shown.splitlines())) < 2 * LINE_CHARACTERS_MAX
    assert "# mqadmin addWritePerm" in shown
    assert json.loads(json.dumps(report_json(report)))


def text(report: Report) -> str:
    return report_text(report, coloured=False)


async def test_names_from_the_network_control_no_terminal() -> None:
    one = FakeNameServer({"broker\x1b[2J": {1: "10.0.0.1:1\n2"}}, {"T": {}})
    report = await examined(one, topics=("T",))
    assert "\x1b" not in text(report)
    assert "broker\\x1b[2J" in text(report)


async def test_a_check_that_cannot_tell_has_status_2() -> None:
    shown = report_json(await examined(addrs=(REFUSING,), topics=("T",)))
    assert shown["checks"]["topic-missing"] == 2
    assert "topic-read-only" in shown["skipped"]


def options(*words: str, **environment: str) -> DoctorOptions:
    return options_of(build().parse_args(words), environment, tls=False)


@pytest.mark.parametrize(
    "words", [("a:9876;b:9877",), ("a:9876,b:9877",), ("a:9876 b:9877",), ("a", "b:9877"), ("a,a;b:9877;",)]
)
def test_commas_semicolons_and_blanks_separate_and_a_port_is_added(words: tuple[str, ...]) -> None:
    assert options(*words).name_servers == ("a:9876", "b:9877")


@pytest.mark.parametrize(
    ("text", "addr"),
    [("[::1]:1", "[::1]:1"), ("::1", "[::1]:9876"), ("::1:9877", "[::1]:9877"),
     ("fe80::1%eth0:9877", "[fe80::1%eth0]:9877"), ("2001:db8::1", "[2001:db8::1]:9876"),
     ("2001:db8:0:0:0:0:0:1234", "[2001:db8:0:0:0:0:0:1234]:9876"), ("h.example", "h.example:9876")],
)  # fmt: skip
def test_addresses_of_ipv6_and_names(text: str, addr: str) -> None:
    assert addresses([text], 9876, 1) == (addr,)


@pytest.mark.parametrize("item", ["a:b", "a:", ":9876", "a:0", "a:65536", "http://a:1", "a=b:1", "a:1:2x"])
def test_what_is_no_address_is_refused_with_its_name(item: str) -> None:
    with pytest.raises(RocketnsError, match="HOST:PORT"):
        options("good:1", item)


def test_without_a_list_the_environment_is_asked_then_this_machine() -> None:
    assert options(NAMESRV_ADDR="x:1;y:2").name_servers == ("x:1", "y:2")
    assert options().name_servers == ("127.0.0.1:9876",)


@pytest.mark.parametrize("option", ["--topic", "--group"])
def test_a_name_that_no_request_can_carry_is_refused(option: str) -> None:
    """A byte that is no UTF-8, as Python reads it from a command line."""
    with pytest.raises(RocketnsError, match=option):
        options("a", option, "orders\udcff")


@pytest.mark.parametrize(("scope", "ips"), [
    (IpScope.LOOPBACK, "127.0.0.1 127.1.2.3 ::1 0.0.0.0 ::ffff:127.0.0.1"),
    (IpScope.CONTAINER, "172.17.0.2 172.20.0.2 10.244.1.7 10.42.0.7"),
    (IpScope.PRIVATE, "172.16.0.1 172.31.0.1 10.0.0.1 192.168.1.1 100.64.0.1 fd00::1"),
    (IpScope.LINK_LOCAL, "169.254.1.1 fe80::1%eth0"), (IpScope.PUBLIC, "8.8.8.8 2a00::1"),
    (IpScope.UNKNOWN, "broker-a"),
])  # fmt: skip
def test_place_of_an_address(scope: IpScope, ips: str) -> None:
    assert {scope_of(ip) for ip in ips.split()} == {scope}


@pytest.mark.parametrize("addr", ["nobody.invalid:10911", "a..b:1", "no-port", "\udcff:1", ":1", "x" * 300 + ":1"])
def test_host_that_has_no_address_is_unresolved(addr: str) -> None:
    with pytest.raises(UnreachedError) as error:
        asyncio.run(resolve(addr, 20.0))
    assert error.value.outcome is Reaction.UNRESOLVED


WITHIN_S = 60.0
PATIENT = ("--timeout", "30")  # a busy machine answers late


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """It has a broker, whose address refuses at once, with the topic Orders."""
    with ExitStack() as stack:
        one = RocketnsServer(tmp_path_factory.mktemp("one"))
        stack.callback(one.kill)
        topics = ("Orders", "SELF_TEST_TOPIC", "TBW102")
        body = payloads.register_body([payloads.topic_config(topic) for topic in topics])
        client = stack.enter_context(one.connect())
        ext = payloads.register_ext(addr=REFUSING, body=body)
        assert client.request(codes.REGISTER_BROKER, ext, body).code == 0
        yield one


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["doctor", *words, *PATIENT])
    return status, capsys.readouterr().out


def test_it_names_the_topic_meant_and_the_name_server_is_rocketns(
    server: NameServer, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown = printed(capsys, f"127.0.0.1:{server.port}", "--topic", "orders", "--json")
    report = json.loads(shown)
    assert (status, report["findings"][0]["check"], report["nameServers"][0]["kind"]) == (
        1,
        "topic-missing",
        "rocketns",
    )


@pytest.mark.parametrize(
    ("mode", "options", "outcome"),
    [("enforcing", (), "speaks TLS"), ("disabled", ("-Dtls.enable=true",), "speaks plain")],
)
def test_tls_where_plain_is_spoken_and_the_other_way_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str, options: tuple[str, ...], outcome: str
) -> None:
    one = RocketnsServer(tmp_path, options=[f"-Dtls.server.mode={mode}"])
    try:
        status, shown = printed(capsys, f"127.0.0.1:{one.port}", *options, "--json")
    finally:
        one.kill()
    report = json.loads(shown)
    assert (status, report["nameServers"][0]["outcome"], report["findings"][0]["check"]) == (1, outcome, "tls")


def test_ctrl_c_ends_the_watching_and_the_report_is_printed(server: NameServer) -> None:
    """Progress on a terminal says when it watches."""
    reading, writing = pty.openpty()
    doctor = started(f"127.0.0.1:{server.port}", "--watch", "600", "--json", stderr=writing)
    shown = b""
    while b"looking again" not in shown:
        assert select.select([reading], [], [], WITHIN_S)[0], shown
        shown += os.read(reading, 1024)
    doctor.send_signal(signal.SIGINT)
    report = json.loads(doctor.communicate(timeout=WITHIN_S)[0])
    os.close(reading)
    os.close(writing)
    assert report["nameServers"][0]["outcome"] == "answered"


def started(*words: str, stderr: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rocketns", "doctor", *words, *PATIENT]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr)


def output_of(*words: str, stdout: int | IO[str], **environment: str) -> tuple[int, str]:
    """Exit status and standard error."""
    command = [sys.executable, "-m", "rocketns", "doctor", *words, *PATIENT]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False,
                          env=os.environ | environment, timeout=WITHIN_S)  # fmt: skip
    return done.returncode, done.stderr


def test_output_that_cannot_be_written_is_no_finding() -> None:
    """Exit status 1 would say that something is wrong with the fleet."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        status, said = output_of(REFUSING, stdout=full)
    assert (status, len(said.splitlines())) == (2, 1)
    assert "No space left" in said


def test_characters_that_the_encoding_of_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("w", encoding="utf-8") as out:
        status, said = output_of(REFUSING, "--language", "zh", stdout=out, PYTHONIOENCODING="ascii")
    assert (status, said) == (1, "")
    assert path.read_text("ascii").startswith("\\u")
    assert REFUSING in path.read_text("ascii")
