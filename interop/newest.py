"""``python -m interop.newest [SCENARIO …]``: what Java's name server answers with the libraries of RocketMQ 5.5.1.

The requests of tests/golden are played to it, and its answers are held against the recorded ones of 5.5.0. Fails if
anything differs beside the version number and the address in remarks (`interop.golden.newest`).
"""

from __future__ import annotations

import sys

from interop.capture import record
from interop.golden import store
from interop.golden.newest import differences
from interop.harness.rocketmq.newest import name_server_classpath


def main(names: list[str]) -> int:
    """1 if an answer of one of the scenarios differs, else 0. Without names, all are played."""
    jars, differing, steps = name_server_classpath(), 0, 0
    for name in names or store.NAMES:
        scenario = store.load(name)
        found = differences(scenario.steps, record(scenario, jars))
        differing, steps = differing + bool(found), steps + len(scenario.steps)
        print(name, *found or ["as recorded"], sep="\n  ", flush=True)
    print(f"{differing} of {len(names or store.NAMES)} scenarios ({steps} steps) differ in something else")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
