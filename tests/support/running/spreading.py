"""How a run with several workers (``-n 4``) is dealt out: groups of tests that share what is costly, longest first.

Tests of one file share its servers and so stay together, those of each mode by themselves; tests that share a Spark
session are two groups; each scenario with brokers of its own is one; the comparison with Java is dealt out by its pairs
of servers.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from interop.parity.scenarios import SCENARIOS

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

PARITY = "interop/parity/"
# Its tests share one Docker engine and its images.
DOCKER = "interop/docker/"
# Its tests share a name server with a policy, and a broker.
ACCESS = "interop/access/"
# Folders of scenarios with real brokers and clients, and the test of the golden bytes, which starts Java as they do.
WITH_PROCESSES = (
    *(
        f"interop/{room}/"
        for room in ("messages", "brokers", "outages", "operating", "collecting", "shadowing", "traffic", "doctor")
    ),
    "interop/test_",
)
# Its largest setup has nearly all scenarios; each part starts a Java name server.
BASE_PARTS = 2
# Files whose tests share a broker. Every other scenario has its own.
WITH_A_BROKER = (
    *("languages", "grpc", "mqadmin", "fast_lane", "audit", "collecting", "shadowing", "traffic"),
    "doctor/test_topics",
)
# The tests of the audit take as long as all the rest, so they are two groups: the folders whose tests share one whole
# run of the audit or that of the worked example, and the others. Two workers have a Spark session each; one that runs
# both groups has one.
ONE_RUN = ("tests/pipeline/batch/", "tests/pipeline/elsewhere/")
# Files whose tests are long and share nothing.
EACH_ALONE = ("tests/sanitize/test_share.py",)
# A worker starts a test when it knows the next one. A group that is given to it earlier waits behind a long test, while
# other workers have nothing to do.
KNOWN_AHEAD = 1
# So many workers keep the cores busy. The others run scenarios with brokers, which wait for most of their time, until
# none is left. If they took other groups between these, fewer would wait while others need the cores, and in the end
# all would wait at once.
AT_WORK = 2
# Groups that wait most come first, so that others fill the gaps and nothing long is left for the end.
ORDER = (
    *("tests/pipeline", DOCKER, "tests/sanitize", "tests/installing"),
    *(ACCESS, "interop/operating/test_audit", "interop/collecting/", "interop/shadowing/"),
    *("interop/messages/test_clients_grpc", "interop/messages/test_clients_acting"),
    *(*WITH_PROCESSES, PARITY),
    *("tests/soak", "tests/restoring", "tests/admin", "tests/hostile", "tests/behaviour"),
)
# It measures how long honest peers wait for an answer, which is worth most when other tests leave the cores to it; its
# modes do so one after the other.
LAST_OF_ALL = "tests/hostile/test_stranger.py"
MODE = re.compile(r"\[(reactors|asyncio)\b")
LAST = re.compile(r"\[(.*)-(?:json|binary)-\d+\]$")


def group_of(test: str) -> str:
    """The group of a test by its id; a worker runs a group whole."""
    path, _, name = test.partition("::")
    if whole := next((folder for folder in (DOCKER, ACCESS) if path.startswith(folder)), None):
        return whole
    if path.startswith(PARITY):
        return f"{PARITY} {_pair_of(test, name)}"
    if path.startswith(WITH_PROCESSES):
        return path if any(word in path for word in WITH_A_BROKER) else test
    if path in EACH_ALONE:
        return test
    if path.startswith("tests/pipeline/"):
        return "tests/pipeline, one run" if path.startswith(ONE_RUN) else "tests/pipeline"
    mode = MODE.search(name)
    return f"{path} {mode[1]}" if mode and path != LAST_OF_ALL else path


def _pair_of(test: str, name: str) -> str:
    """The setup of the pair that plays it, and a part of those that the base setup plays."""
    if name.startswith("test_both_programs"):
        return "programs"
    scenario = LAST.search(name)
    setup = SCENARIOS[scenario[1]].setup if scenario else "base"
    return f"base {zlib.crc32(test.encode()) % BASE_PARTS}" if setup == "base" else setup


def in_order(tests: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The tests by their groups, those first that take longest; of the rest the modes one after the other."""
    return sorted(tests, key=lambda test: _rank(group_of(test.nodeid)))


def _rank(group: str) -> tuple[int, str, str]:
    place = next((place for place, start in enumerate(ORDER) if group.startswith(start)), len(ORDER))
    place = len(ORDER) + 1 if group.startswith(LAST_OF_ALL) else place
    return place, group.partition(" ")[2], group


def sendable(value: object) -> object:
    """A copy in which every text can be encoded as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return type(value)(map(sendable, value))
    if isinstance(value, dict):
        return {sendable(key): sendable(one) for key, one in value.items()}
    return value


def waits(group: str) -> bool:
    """Whether it waits for other programs most of the time, and leaves the cores to other tests."""
    return group.startswith("interop/") and not group.startswith(PARITY)


def scheduler() -> type[LoadScopeScheduling]:
    """xdist's own, which deals out groups, with these groups; all workers but a few may wait at once."""
    from xdist.scheduler import LoadScopeScheduling

    class Spreading(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

        def _reschedule(self, node: WorkerController) -> None:
            if not self.workqueue or self._pending_of(self.assigned_work[node]) <= KNOWN_AHEAD:
                super()._reschedule(node)

        def _assign_work_unit(self, node: WorkerController) -> None:
            at_work = sum(not self._is_waiting(other) for other in self.assigned_work if other is not node)
            wanted = at_work >= AT_WORK
            group = next((one for one in self.workqueue if waits(one) == wanted), next(iter(self.workqueue)))
            self.workqueue.move_to_end(group, last=False)
            super()._assign_work_unit(node)

        def _is_waiting(self, node: WorkerController) -> bool:
            work = self.assigned_work[node].items()
            return any(waits(group) and not all(tests.values()) for group, tests in work)

    return Spreading
