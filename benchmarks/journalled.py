"""What the journal costs a lookup: CPU time of two servers, one with a journal, in turns.

``python -m benchmarks.journalled``. The same machine, load and routes; only ``journalPath`` differs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.loading.load import lookups
from benchmarks.restart import register
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client

BROKERS, TOPICS = 4, 100


def main(words: Sequence[str]) -> int:
    """Print the CPU time of one lookup on either server: the median over all rounds, and the difference."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journalled", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each server in a round (1)")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = _servers(Path(folder), stack)
        spent: dict[str, list[float]] = {name: [] for name in servers}
        for number in range(given.rounds):
            for name in sorted(servers, reverse=bool(number % 2)):
                load = lookups(servers[name], connections=8, depth=16, encoding="json", topics=TOPICS,
                               seconds=given.seconds)  # type: ignore[arg-type]  # fmt: skip
                spent[name].append(load.cpu_us)
    without, with_journal = (statistics.median(spent[name]) for name in ("without", "with"))
    more = with_journal / without - 1
    print(f"CPU time of a lookup: {without:.3f} us, with a journal {with_journal:.3f} us ({more:+.1%})")
    print({name: [round(one, 3) for one in all_of] for name, all_of in spent.items()})
    return 0


def _servers(folder: Path, stack: ExitStack) -> dict[str, RocketnsServer]:
    servers = {}
    for name, settings in {"without": {}, "with": {"journalPath": folder / "j", "journalNs": "n1"}}.items():
        server = servers[name] = RocketnsServer(folder / name, settings | {"rocketns.reactors": 1})
        stack.callback(server.kill)
        client = stack.enter_context(Client(server.port))  # stays open: a broker leaves with its connection
        register(client, BROKERS, TOPICS, 0)
    return servers


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
