"""The process of the strangers: ``python -m tests.hostile.stranger.strangers`` with a `Plan` as JSON.

It listens at once, and begins when it reads a line. Its steps go on until its time is over or the last one is played.
It writes a line for each step, and its totals, to a file.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from interop.harness.wire import eventually
from tests.hostile.stranger.attacks import wide_topics
from tests.hostile.stranger.grammar.acts import act_of
from tests.hostile.stranger.listeners import Listeners
from tests.hostile.stranger.opening import OPENING, step_of
from tests.hostile.stranger.playing import STEP_S_MAX, Player, Ports

STEPS_MAX = 100_000
WORKERS = 6
PAUSE_S = 0.02
FILES = 8_192


@dataclass(frozen=True)
class Plan:
    """``last`` is not played. ``opened`` are the ports at which strangers listen: brokers, peers, seeds."""

    seed: int
    first: int
    last: int
    seconds: float
    ports: Ports
    opened: dict[str, int]
    lines: str

    @classmethod
    def read(cls, text: str) -> Plan:
        values = json.loads(text)
        return cls(**values | {"ports": Ports(**values["ports"])})

    def write(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Played:
    """``began_s`` and ``ended_s`` are of the monotonic clock, which all processes share."""

    number: int
    step: str
    began_s: float
    ended_s: float


def play(plan: Plan, out: TextIO) -> None:
    with Listeners(plan.opened, act_of(plan.seed, plan.first)) as listeners:
        print("listening", flush=True)
        sys.stdin.readline()
        player = Player(plan.ports)
        for number in range(plan.first, min(plan.last, len(OPENING))):
            played = _play_one(number, plan, player, listeners)
            eventually(player.held.end, STEP_S_MAX)
            out.write(json.dumps(asdict(replace(played, ended_s=time.monotonic()))) + "\n")
        with wide_topics(plan.ports.server):
            _play_all(plan, player, listeners, out)
        player.held.end(all_of_them=True)
    totals = {"sent": player.sent, "frames": player.frames, "refused": player.refused, "accepted": listeners.accepted,
              "gave": listeners.sent}  # fmt: skip
    out.write(json.dumps(totals) + "\n")


def _play_all(plan: Plan, player: Player, listeners: Listeners, out: TextIO) -> None:
    """Also the held connections stay no longer than the plan's time."""
    numbers = iter(range(max(plan.first, len(OPENING)), min(plan.last, STEPS_MAX)))
    lock, ends_s = threading.Lock(), time.monotonic() + plan.seconds

    def next_number() -> int | None:
        with lock:
            return next(numbers, None) if time.monotonic() < ends_s else None

    work = partial(_work, plan, player, listeners, iter(next_number, None), out, lock)
    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or (player.held.has_any and time.monotonic() < ends_s):
        player.held.end()
        time.sleep(PAUSE_S)


def _work(
    plan: Plan, player: Player, listeners: Listeners, numbers: Iterator[int], out: TextIO, lock: threading.Lock
) -> None:
    for number in numbers:
        played = _play_one(number, plan, player, listeners)
        with lock:
            out.write(json.dumps(asdict(played)) + "\n")
            out.flush()
        time.sleep(PAUSE_S)


def _play_one(number: int, plan: Plan, player: Player, listeners: Listeners) -> Played:
    listeners.act = act_of(plan.seed, number)
    step, began_s = step_of(plan.seed, number, listeners.addresses), time.monotonic()
    player.play(step)
    return Played(number, str(step), began_s, time.monotonic())


def main(text: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    plan = Plan.read(text)
    with Path(plan.lines).open("w", encoding="utf-8") as out:
        play(plan, out)


if __name__ == "__main__":
    main(sys.argv[1])
