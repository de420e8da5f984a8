"""rocketns with and without a policy, and another build of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.access.guarded import CONTROL, NETWORKS, SIGNED
from benchmarks.servers.kinds import DEFAULT, Launch, ServerKind, all_kinds
from benchmarks.servers.running import Needs, Server

OFF, BESIDE = "off", "beside"
ROOT = Path(__file__).parents[2]
# Each tree's own rocketns is found first, whatever is installed.
RUN = "import runpy, sys; sys.path[:0] = [{root!r}]; runpy.run_module({name!r}, run_name='__main__', alter_sys=True)"


def start(folder: Path, policy: str = OFF, root: Path = ROOT, prefix: Sequence[str] = ()) -> Server:
    """A running server of the tree at ``root``. ``prefix`` are words before its command."""
    name, first = ("rocketns", []) if policy in (OFF, BESIDE) else ("benchmarks.access.guarded", [policy])

    def command(launch: Launch) -> list[str]:
        words = all_kinds()[DEFAULT].command(launch)
        options = words[words.index("rocketns") + 1 :]
        return [*prefix, sys.executable, "-c", RUN.format(root=str(root), name=name), *first, *options]

    return Server(ServerKind(policy, command, lambda: None), folder, Needs())


def starters(beside: Path | None) -> dict[str, Callable[..., Server]]:
    """A function like `start` for each server by its name, the one that others are compared with first."""

    def starter(policy: str, root: Path) -> Callable[..., Server]:
        return lambda folder, prefix=(): start(folder, policy, root, prefix)

    found = {} if beside is None else {BESIDE: starter(BESIDE, beside)}
    return found | {policy: starter(policy, ROOT) for policy in (OFF, NETWORKS, SIGNED, CONTROL)}
