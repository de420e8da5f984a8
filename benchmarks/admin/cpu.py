"""CPU time of the whole process for one lookup, off and on in turn, with a confidence interval of their ratio."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.admin.servers import OFF, ON, pair, registered
from benchmarks.loading.brokers import Shape
from benchmarks.loading.load import lookups

SHAPE = Shape(10, 1000, 4)
CONNECTIONS, DEPTH = 32, 16
RESAMPLED, SEED = 5000, 7


def ratios(folder: Path, rounds: int, seconds: float) -> dict[str, list[float]]:
    """CPU µs for a lookup in each round. The order changes from round to round."""
    off, on, _ = pair(folder)
    found: dict[str, list[float]] = {OFF: [], ON: []}
    try:
        brokers = [registered(server, SHAPE) for server in (off, on)]
        for number in range(rounds + 1):
            for server in (off, on) if number % 2 else (on, off):
                load = lookups(server, connections=CONNECTIONS, depth=DEPTH, encoding="json", topics=SHAPE.topics,
                               seconds=seconds)  # fmt: skip
                if number:  # the first round is a warm-up
                    found[server.kind.key].append(load.cpu_us)
        for one in brokers:
            one.close()
    finally:
        off.kill()
        on.kill()
    return found


def interval(off: Sequence[float], on: Sequence[float]) -> tuple[float, float, float]:
    """The median of on / off by rounds, and its 95 % interval: the quantiles of medians of resampled rounds."""
    by_round = [one / other for one, other in zip(on, off, strict=True)]
    chance = random.Random(SEED)
    medians = sorted(statistics.median(chance.choices(by_round, k=len(by_round))) for _ in range(RESAMPLED))
    return statistics.median(by_round), medians[RESAMPLED * 25 // 1000], medians[RESAMPLED * 975 // 1000]
