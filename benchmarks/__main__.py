"""``python -m benchmarks [--quick]``: rocketns and the Java NameServer side by side, and the results as files."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks import plan as plans
from benchmarks import results as written
from benchmarks.machine import facts, load_average
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.whole import measure
from interop.harness.maven import missing_tools
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter and fewer rounds: a look, not a measurement")
    plan = QUICK if parser.parse_args().quick else FULL
    kinds: list[type[NameServer]] = [RocketnsServer, JavaNameServer]
    if missing := missing_tools():
        print(f"RATIOS LEFT OUT, only rocketns is measured: not found on the PATH: {', '.join(missing)}")
        kinds = [RocketnsServer]
    load_before, began = load_average(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(
            plan, kinds, Path(folder), lambda what: print(f"[{time.monotonic() - began:5.0f} s] {what}", flush=True)
        )
    machine = facts(JavaNameServer.program() if JavaNameServer in kinds else None, load_before)
    method = described(plan)
    print("", written.text_table(results), "", sep="\n")
    print(*(f"{name}: {value}" for name, value in machine.items()), "", method, "", sep="\n")
    print(*written.write(plan.name, results, machine, method), sep="\n")


def described(plan: Plan) -> str:
    return written.METHOD.format(
        connections=plans.CONNECTIONS, topics=plans.TOPICS, width=plans.WIDTH, brokers=plans.BROKERS,
        route_s=plan.route_s, warm_up_s=plan.warm_up_s, many=plans.MANY_TOPICS, registrations=plan.registrations,
        warm_up_rounds=plan.warm_up_registration_rounds, starts=plan.starts, rounds=plan.rounds,
    )  # fmt: skip


if __name__ == "__main__":
    main()
