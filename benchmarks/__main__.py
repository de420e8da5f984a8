"""``python -m benchmarks [--quick] [PART …]``: measure name servers side by side and write the results to files."""

from __future__ import annotations

import argparse
import resource
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import busy
from benchmarks.failures import EXPECTED, reason
from benchmarks.measuring import measure
from benchmarks.parts.catalogue import PARTS
from benchmarks.plan import FULL, QUICK, SMOKE
from benchmarks.report import aims, costs, markdown, plots, store
from benchmarks.report.store import Results
from benchmarks.servers.kinds import FORMER, LABELS, ServerKind, all_kinds, former
from benchmarks.servers.machine import commit, facts

NAMES = [part.name for part in PARTS]
PLANS = {plan.name: plan for plan in (FULL, QUICK, SMOKE)}
STATUS_BUSY = 3


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", metavar="PART", help=f"measure only these parts: {', '.join(NAMES)}. The "
                        "results go to files of their own, and docs/costs.md is not changed")  # fmt: skip
    chosen = parser.add_mutually_exclusive_group()
    for plan, what in ((QUICK, "shorter, with fewer rounds"), (SMOKE, "a few seconds a part, to see that all works")):
        chosen.add_argument(f"--{plan.name}", dest="plan", action="store_const", const=plan.name, help=what)
    parser.add_argument("--servers", metavar="LIST", help="measure only these servers, separated by commas: "
                        f"{', '.join(LABELS)}")  # fmt: skip
    parser.add_argument("--former", metavar="DIR", type=Path, help="also measure the rocketns of this checkout, in "
                        "which `make run` was called once")  # fmt: skip
    parser.add_argument("--busy-ok", action="store_true", help="also measure on a machine that is busy with other "
                        "work, and write the results; they say that it was busy")  # fmt: skip
    parser.add_argument("--report", metavar="NAME", nargs="?", const="full", help="measure nothing; write the reports "
                        "of results/NAME.json again (default: full)")  # fmt: skip
    parser.set_defaults(plan=FULL.name)
    found = parser.parse_args(words)
    if unknown := set(found.part) - set(NAMES):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if found.servers and (unknown := set(found.servers.split(",")) - set(LABELS)):
        parser.error(f"no such server: {', '.join(sorted(unknown))}")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure, then write; the exit status."""
    chosen = arguments(words)
    if chosen.report:
        return report(store.read(chosen.report), busy_ok=chosen.busy_ok)
    complaints = look(busy.LOAD_WAIT_S if not chosen.busy_ok else 0)
    if complaints and not chosen.busy_ok:
        print("Nothing was measured: this machine is busy:", *complaints, sep="\n- ")
        print("Wait until it is quiet, or use --busy-ok; the results then say that the machine was busy.")
        return STATUS_BUSY
    results = run(chosen, complaints, words)
    return report(results, busy_ok=chosen.busy_ok)


def look(wait_s: float) -> list[str]:
    """Why this machine is busy, or an empty list. Prints what was observed."""
    machine = busy.look(lambda text: print(text, flush=True), wait_s)
    print(f"machine before the run: load average {machine.load:.2f}, others {machine.others:.1%} and host "
          f"{machine.steal:.1%} of the CPU, a busy process gets {machine.got:.1%} of a core", flush=True)  # fmt: skip
    return machine.complaints()


def run(chosen: argparse.Namespace, complaints: list[str], words: Sequence[str] | None) -> Results:
    """One run. Each part is saved when it is over, so an interrupted run keeps its parts, in a file of its own."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # sys.exit also ends the servers
    _allow_many_files()
    wanted = [*(chosen.servers.split(",") if chosen.servers else LABELS), FORMER]
    kinds, unavailable = available(wanted, chosen.former)
    results = Results(chosen.plan, commit(), unavailable=unavailable, busy=complaints)
    typed = sys.argv[1:] if words is None else words
    results.machine = facts(kinds) | {"command": shlex.join(["python", "-m", "benchmarks", *typed])}
    if FORMER in kinds:
        results.machine[LABELS[FORMER]] = f"commit {commit(chosen.former)}"
    parts = [part for part in PARTS if not chosen.part or part.name in chosen.part]
    measure(parts, PLANS[chosen.plan], kinds, results)
    # The results say why a server is missing. A run with --servers does not count as whole.
    results.is_whole = parts == PARTS and not chosen.servers
    return results


def available(keys: list[str], checkout: Path | None = None) -> tuple[dict[str, ServerKind], dict[str, str]]:
    """The servers that can be measured on this machine, and why the others cannot. Builds what is not built yet."""
    kinds, missing = {}, {}
    known = all_kinds() | ({FORMER: former(checkout)} if checkout else {})
    for key, kind in known.items():
        if key not in keys:
            continue
        try:
            kind.prepare()
            kinds[key] = kind
        except EXPECTED as error:
            missing[key] = reason(error)
            print(f"LEFT OUT: {LABELS[key]}: {missing[key]}", flush=True)
    return kinds, missing


def report(results: Results, *, busy_ok: bool) -> int:
    """Write JSON and Markdown; for a whole full run also the plots and docs/costs.md, unless the machine was
    busy without --busy-ok. Print the aims. Returns the exit status."""
    name = store.name_of(results, busy_ok=busy_ok)
    written = [store.write(results, name)]
    to_costs = name == FULL.name
    if to_costs:
        try:
            written += plots.draw(results, FULL)
        except ImportError:
            print("PLOTS LEFT OUT: matplotlib is not installed")
    path = store.FOLDER / f"{name}.md"
    path.write_text(markdown.text(results), "utf-8")  # after the plots, which it lists
    print("", *aims.aims_table(results), "", sep="\n")
    if to_costs and results.is_clean:
        written.append(costs.write(results))
    elif results.plan == FULL.name:
        print("docs/costs.md was not changed: that needs a whole run of a commit without changes on a quiet machine.")
    if results.busy and not busy_ok:
        print(f"The machine was busy: {'; '.join(results.busy)}.")
        print(f"`python -m benchmarks --busy-ok --report {name}` accepts these results as they are.")
    print(*written, path, sep="\n")
    return STATUS_BUSY if results.busy and not busy_ok else 0


def _allow_many_files() -> None:
    """Raise the limit of open files, for thousands of connections here and in the servers, which inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    sys.exit(main())
