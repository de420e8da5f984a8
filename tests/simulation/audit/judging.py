"""Runs a case, audits its journals, and says where the audit is wrong."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from tests.simulation.audit.compare import differences
from tests.simulation.audit.ending import run_into
from tests.simulation.audit.found import audit
from tests.simulation.simulation import Case
from tests.simulation.world import Violation

CLOSED = "v=1/dt=*/ns=*/[0-9]*.jsonl"


def with_one_clock(case: Case) -> Case:
    """The case without the faults that move wall clocks."""
    _, faults = case.plan()
    moved = {number for number, fault in enumerate(faults) if fault.kind == "move the wall clock"}
    return replace(case, without=case.without | moved)


def judge(case: Case, folder: Path) -> list[str]:
    """What the audit of the journals, which stay in the folder, missed or invented. One sentence each."""
    case = with_one_clock(case)
    deployment, faults = case.plan()
    done = [fault for number, fault in enumerate(faults) if number not in case.without]
    try:
        truth = run_into(case, folder)
    except Violation as violation:
        return [str(violation)]
    if not any(folder.glob(CLOSED)):
        return [f"(h) no journal of {run.ns}" for run in truth.runs if run.synced]
    return [f"(h) {one}" for one in differences(truth, audit(folder), deployment, done)]


def judge_all(seeds: range) -> int:
    """How many seeds there are whose audit is wrong; they are printed."""
    wrong = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="rocketns-simulated-") as folder:
            if found := judge(Case(seed), Path(folder)):
                wrong += 1
                print(f"seed {seed}, {len(found)} differences:", *found[:5], sep="\n", flush=True)
    print(f"{len(seeds)} audited seeds, {wrong} of them with a difference")
    return wrong
