"""``python -m interop.capture [GROUP …]``: record what the Java name server does in the scenarios of interop/parity.

Without a group, all are recorded, and how Java starts. Fails if rocketns does anything else, unless docs/differences.md
lists it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

from interop.harness.rocketmq.java import CURRENT
from interop.harness.rocketmq.maven import cache_folder
from interop.parity import starts
from interop.parity.groups import GROUPS, record
from interop.parity.tape import FOLDER

COMMAND = "python -m interop.capture"
# fastjson2 writes every JSON text of the answers.
JARS = (f"rocketmq-namesrv-{CURRENT}", f"rocketmq-remoting-{CURRENT}", f"rocketmq-common-{CURRENT}", "fastjson2-2.0.59")


def provenance() -> dict[str, object]:
    """The server and versions that the answers came from, so that they can be recorded again."""
    lib = cache_folder() / f"rocketmq-{CURRENT}" / "lib"
    jars = {f"{jar}.jar": hashlib.sha256((lib / f"{jar}.jar").read_bytes()).hexdigest() for jar in JARS}
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    return {"rocketmq": CURRENT, "java": java, "jars": jars, "command": COMMAND}


def main(groups: list[str]) -> int:
    """1 if rocketns differs."""
    differing = 0
    for group in groups or GROUPS:
        found = record(group)
        differing += len(found)
        print(f"{group}: {len(GROUPS[group])} scenarios", *found, sep="\n\n", flush=True)
    if not groups:
        starts.record()
        (FOLDER / "provenance.json").write_text(json.dumps(provenance(), indent=2) + "\n", "utf-8")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
