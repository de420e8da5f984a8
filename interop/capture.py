"""``python -m interop.capture [SCENARIO …]``: record the Java NameServer's answers to the requests in tests/golden.

Without a scenario, all are recorded; and some of them again with the libraries of 5.5.1
(`interop.harness.rocketmq.newest`).
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from interop.golden import store
from interop.golden.play import play
from interop.golden.steps import Scenario
from interop.harness.rocketmq.java import CURRENT, SHORT_KEY
from interop.harness.rocketmq.maven import NEWEST, cache_folder, classpath
from interop.harness.rocketmq.newest import name_server_classpath
from interop.harness.servers import JavaNameServer

COMMAND = "python -m interop.capture"
# They have every kind of answer in which 5.5.1 differs, to requests in both encodings.
OF_NEWEST = ("topics", "unknown-topics")
# fastjson2 writes every JSON text of the answers.
JARS = (f"rocketmq-namesrv-{CURRENT}", f"rocketmq-remoting-{CURRENT}", f"rocketmq-common-{CURRENT}", "fastjson2-2.0.59")


def record(scenario: Scenario, jars: str = "") -> list[bytes]:
    """The answers of a fresh Java NameServer of 5.5.0, or of the class path ``jars``, to one scenario."""
    with tempfile.TemporaryDirectory() as folder:
        server = JavaNameServer(
            Path(folder), scenario.properties, classpath=jars or classpath(CURRENT), options=[SHORT_KEY]
        )
        try:
            return play(scenario, server)
        finally:
            server.stop()


def provenance() -> dict[str, object]:
    """The server and versions that the answers came from, so that they can be recorded again."""
    lib = cache_folder() / f"rocketmq-{CURRENT}" / "lib"
    jars = {f"{jar}.jar": hashlib.sha256((lib / f"{jar}.jar").read_bytes()).hexdigest() for jar in JARS}
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
    return {"rocketmq": CURRENT, "java": java, "jars": jars, "command": COMMAND, "scenarios": store.NAMES}


def main(names: list[str]) -> None:
    for scenario in map(store.load, names or store.NAMES):
        store.save(scenario, record(scenario))
        print(f"{store.path_of(scenario.name).name}: {len(scenario.steps)} steps", flush=True)
    if not names:
        for scenario in map(store.load, OF_NEWEST):
            store.save(scenario, record(scenario, name_server_classpath()), NEWEST)
        (store.FOLDER / "provenance.json").write_text(json.dumps(provenance(), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
