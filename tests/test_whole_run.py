"""How a run of all tests is dealt out to its workers, and what it says at its end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interop import conftest
from interop.harness import ports
from interop.parity.language import EVERY_FORM, KINDS, VERSIONS, some_forms
from tests.support.running import cgroups, spreading
from tests.support.running.importing import from_another_one, modules_below
from tests.support.running.spreading import AT_WORK, LAST_OF_ALL, _rank, group_of, scheduler, waits
from tests.support.running.summary import Summary, cpu_s

BROKERS = [f"interop/messages/test_send_and_receive.py::test_one[{number}]" for number in range(4)]
ROOT = Path(__file__).parents[1]
OTHERS = ["tests/config/test_system.py::test_one", "tests/server/tls/test_tls.py::test_one"]


class Node:
    """A worker that is told which tests to run."""

    shutting_down = False

    def __init__(self) -> None:
        self.told: list[int] = []

    def send_runtest_some(self, places: list[int]) -> None:
        self.told += places


def spreading_of(tests: list[str], nodes: list[Node]) -> Any:
    """The scheduler of these tests, each of which is a group, before it has given any to these workers."""
    made: Any = object.__new__(scheduler())
    made.log = lambda *_: None
    made.workqueue = OrderedDict((group_of(test), {test: False}) for test in tests)
    made.assigned_work = {node: {} for node in nodes}
    made.registered_collections = dict.fromkeys(nodes, tests)
    return made


def dealt(tests: list[str], workers: int) -> list[list[str]]:
    """Which tests each worker is given first."""
    nodes = [Node() for _ in range(workers)]
    spreading = spreading_of(tests, nodes)
    for node in nodes:
        spreading._assign_work_unit(node)
    return [[tests[place] for place in node.told] for node in nodes]


@pytest.mark.parametrize("waiting", [1, 2, 3])
def test_all_workers_but_two_wait_for_brokers(waiting: int) -> None:
    given = dealt([*BROKERS, *OTHERS], waiting + AT_WORK)
    assert given == [[test] for test in (*BROKERS[:waiting], *OTHERS)]


def test_a_worker_that_waits_goes_on_with_what_waits() -> None:
    """Its next group is chosen while its last scenario runs, which does not count: otherwise one that needs the cores
    would come between, with the next scenario held back behind it."""
    nodes = [Node() for _ in range(2 + AT_WORK)]
    spreading = spreading_of([*BROKERS, *OTHERS, "tests/test_files.py::test_one"], nodes)
    for node in nodes:
        spreading._assign_work_unit(node)
    for node in (nodes[0], nodes[-1]):
        spreading._reschedule(node)
    assert [node.told for node in nodes] == [[0, 2], [1], [4], [5, 6]]


def test_workers_wait_for_brokers_where_nothing_else_is_left() -> None:
    assert dealt(BROKERS, len(BROKERS)) == [[test] for test in BROKERS]


def test_a_worker_knows_one_test_ahead_so_that_no_more_wait_behind_a_long_one() -> None:
    tests = [f"{test}[{mode}]" for test in OTHERS for mode in ("reactors", "asyncio")]
    node = Node()
    spreading = spreading_of(tests, [node])
    for _ in range(3):
        spreading._reschedule(node)
    assert node.told == [0, 1]
    spreading.mark_test_complete(node, 0)
    assert node.told == [0, 1, 2]


def test_a_worker_whose_scenario_is_over_waits_no_longer() -> None:
    spreading = object.__new__(scheduler())
    node = Node()
    spreading.assigned_work = {node: {group_of(BROKERS[0]): {BROKERS[0]: True}}}
    assert not spreading._is_waiting(node)


def test_each_sanitizer_is_a_group_of_its_own_and_comparing_with_java_keeps_the_cores_busy() -> None:
    one, other = (f"tests/sanitize/test_share.py::test_a_sanitizer[{name}]" for name in ("address", "thread"))
    assert group_of(one) != group_of(other)
    assert not waits(group_of("interop/parity/test_sequences.py::test_both_servers_stay_alike[1]"))


def test_the_audit_is_two_groups_that_come_first() -> None:
    files = ("stream/test_alerting", "test_journals", "batch/test_effects", "batch/named/test_records")
    groups = [group_of(f"tests/pipeline/{name}.py::test_one") for name in files]
    assert groups[0] == groups[1] != groups[2] == groups[3]
    others = {group_of(test) for test in (*BROKERS, *OTHERS)}
    assert set(sorted([*groups, *others], key=_rank)[:4]) == set(groups)


def test_scenarios_that_share_a_policy_and_a_broker_are_one_group_that_waits() -> None:
    keys, operators = (group_of(f"interop/access/test_{name}.py::test_one") for name in ("keys", "operators"))
    assert keys == operators
    assert waits(keys)


def test_tests_that_share_a_run_of_the_audit_are_of_one_group() -> None:
    shared = ("batch/test_effects", "batch/named/test_records", "batch/test_nightly", "batch/test_twins",
              "batch/test_run", "elsewhere/test_places")  # fmt: skip
    assert len({group_of(f"tests/pipeline/{name}.py::test_one") for name in shared}) == 1


@pytest.mark.parametrize(
    "start",
    [*spreading.ORDER, *spreading.WITH_PROCESSES, *spreading.EACH_ALONE, LAST_OF_ALL],
)
def test_the_order_names_tests_that_exist(start: str) -> None:
    assert any(ROOT.glob(f"{start.rstrip('/')}*")), f"{start} is not there: change tests/support/running/spreading.py"


def test_each_scenario_with_real_brokers_is_one_that_waits() -> None:
    """It would be dealt out by files otherwise, and more than two workers would wait at once."""
    files = {file.relative_to(ROOT).as_posix() for file in ROOT.glob("interop/**/test_*.py")}
    named = (spreading.PARITY, spreading.DOCKER, spreading.ACCESS, *spreading.WITH_PROCESSES)
    assert files
    assert not [file for file in files if not file.startswith(named)]


def test_what_scenarios_need_is_built_before_the_first_test_of_their_file_and_before_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker that begins with other tests has no need to wait for them."""
    monkeypatch.setattr(conftest, "missing_tools", list)
    monkeypatch.setattr(conftest, "_prepare_java", lambda: None)
    built: list[str] = []
    session: Any = type("Session", (), {})()
    files = (conftest.HERE / "messages" / "test_a.py", conftest.HERE / "messages" / "test_b.py", ROOT / "test_c.py")
    session.items = [item_of(file, session, partial(built.append, file.name)) for file in files for _ in range(2)]
    seen = []
    for item in reversed(session.items):
        next(conftest.pytest_runtest_protocol(item))
        seen.append(list(built))
    assert seen == [[], [], *[["test_b.py"]] * 2, *[["test_b.py", "test_a.py"]] * 2]


def item_of(file: Path, session: object, build: Callable[[], None]) -> Any:
    """A test of this file, whose module has this ``build``."""
    return SimpleNamespace(path=file, session=session, module=SimpleNamespace(build=build))


def test_modes_of_a_file_are_groups_but_those_of_the_last_file_wait_for_each_other() -> None:
    one, other = ({group_of(f"{path}::test_one[{mode}]") for mode in ("reactors", "asyncio")}
                  for path in ("tests/hostile/shares/test_limits.py", LAST_OF_ALL))  # fmt: skip
    assert (len(one), len(other)) == (2, 1)


def test_twelve_scenarios_are_played_in_every_form_and_each_by_every_kind_of_peer() -> None:
    played = [some_forms(number) for number in range(12)]
    assert {form for forms in played for form in forms} == set(EVERY_FORM)
    assert tuple(chain(*KINDS)) == VERSIONS
    for forms in played:
        assert all(set(kind) & {form.version for form in forms} for kind in KINDS)
        assert all(one.binary != next_.binary for one, next_ in pairwise(forms))


def report(test: str, when: str, seconds: float, reason: str = "") -> pytest.TestReport:
    outcome, longrepr = ("skipped", ("file.py", 1, f"Skipped: {reason}")) if reason else ("passed", None)
    made = pytest.TestReport(test, ("file.py", 1, test), {}, outcome, longrepr, when, duration=seconds)  # type: ignore[arg-type]
    made.cpu_s = seconds / 2  # type: ignore[attr-defined]
    return made


def test_the_summary_has_the_slowest_tests_their_folders_and_why_tests_were_left_out() -> None:
    summary = Summary()
    for test, seconds in (("tests/a/test_a.py::quick", 0.1), ("tests/a/test_a.py::slow", 2.0), ("b/test_b.py::s", 3.0)):
        summary.pytest_runtest_logreport(report(test, "setup", 0.25))
        summary.pytest_runtest_logreport(report(test, "call", seconds))
    for number in range(3):
        summary.pytest_runtest_logreport(report(f"b/test_b.py::left_out_{number}", "setup", 0.0, "no Java runtime"))
    said = summary.sections()
    assert [line.split()[-1] for line in said["slowest tests"]] == ["b/test_b.py::s", "tests/a/test_a.py::slow"]
    assert said["slowest tests"][0].split()[:5] == ["3.2", "s", "1.6", "s", "CPU"]
    assert [line.split()[-3:] for line in said["folders"]] == [["4", "tests", "b"], ["2", "tests", "tests/a"]]
    assert said["left out"] == ["3 tests: no Java runtime"]


def test_the_cpu_time_of_a_test_has_that_of_processes_that_still_run() -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    before_s = cpu_s()
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        while_it_runs_s = cpu_s() - before_s
        child.communicate(b"\n")
    assert while_it_runs_s >= 0.28
    assert cpu_s() - before_s >= while_it_runs_s


@pytest.mark.parametrize(
    ("file", "text"),
    [("ours/cpu.stat", "usage_usec 2500000\nuser_usec 1\n"), ("cpuacct/ours/cpuacct.usage", "2500000000\n")],
    ids=["version 2", "version 1"],
)
def test_the_cpu_time_of_a_test_has_that_of_a_cgroup_of_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text, "ascii")
    monkeypatch.setattr(cgroups, "CGROUPS", tmp_path)
    before_s = cpu_s()
    with cgroups.counted("ours"):
        assert cpu_s() - before_s >= 2.4
    assert cpu_s() - before_s < 1.0


def test_the_summary_says_which_workers_had_nothing_left_to_do() -> None:
    summary = Summary(began_s=1000.0)
    for worker, stop in (("gw0", 1090.0), ("gw1", 1100.0)):
        one = report(f"tests/a/test_a.py::{worker}", "call", 8.0)
        one.worker_id, one.stop = worker, stop  # type: ignore[attr-defined]
        summary.pytest_runtest_logreport(one)
    assert summary.sections()["workers"] == [
        f"8 s CPU of {os.cpu_count()} cores for 100 s",
        "seconds without a test at the end: gw0 10 gw1 0",
    ]


def test_ports_that_are_asked_for_together_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_part", lambda: (ports.FIRST, ports.FIRST + 60))
    chosen = [ports.free_port() for _ in range(20)]
    assert len(set(chosen)) == 20


def test_each_worker_imports_all_modules_by_the_names_that_pytest_gives_them_and_begins_at_another_one() -> None:
    modules = modules_below(ROOT, [ROOT / "tests" / "mutants", Path(__file__).parent / "soak", ROOT.parent])
    assert set(modules) >= {"tests.soak.test_soak"}
    assert all((ROOT / Path(*name.split(".")).parent / "__init__.py").is_file() for name in modules)
    orders = [from_another_one(modules, worker, 3) for worker in range(3)]
    assert all(sorted(order) == sorted(modules) for order in orders)
    assert len({order[0] for order in orders}) == 3
