"""How a run with several workers (``-n 3``) is dealt out: groups of tests that share what is costly, longest first.

Tests of one file share its servers and so stay together, those of each mode by themselves; all tests that share a Spark
session are one group; each scenario with brokers of its own is one; the comparison with Java is dealt out by its pairs
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

PARITY = "interop/parity/"
# Its largest setup has nearly all scenarios; each part starts a Java name server.
BASE_PARTS = 6
# Files whose tests share a broker. Every other scenario has its own.
WITH_A_BROKER = ("languages", "grpc", "mqadmin", "fast_lane", "audit")
# It runs Spark in processes of its own.
WITH_A_CLUSTER = ("tests/pipeline/test_cluster.py",)
# What waits most comes first, so that the rest fills the gaps; and nothing long is left for the end.
ORDER = ("tests/pipeline", "tests/sanitize", "interop/audit", "interop/test_", PARITY, "tests/soak", "tests/hostile")
MODE = re.compile(r"\[(reactors|asyncio)\b")
LAST = re.compile(r"\[(.*)-(?:json|binary)-\d+\]$")


def group_of(test: str) -> str:
    """The group of a test by its id; a worker runs a group whole."""
    path, _, name = test.partition("::")
    if path.startswith(PARITY):
        return f"{PARITY} {_pair_of(test, name)}"
    if path.startswith("interop/test_"):
        return path if any(word in path for word in WITH_A_BROKER) else test
    if path.startswith("tests/pipeline/") and path not in WITH_A_CLUSTER:
        return "tests/pipeline"
    mode = MODE.search(name)
    return f"{path} {mode[1]}" if mode else path


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
    return place, group.partition(" ")[2], group


def sendable(value: object) -> object:
    """The same with every text in it as UTF-8 can hold it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return type(value)(map(sendable, value))
    if isinstance(value, dict):
        return {sendable(key): sendable(one) for key, one in value.items()}
    return value


def scheduler() -> type[LoadScopeScheduling]:
    """xdist's own, which deals out groups, with these groups."""
    from xdist.scheduler import LoadScopeScheduling

    class Spreading(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Spreading
