"""Lists of numbers on the command line: ``1,3-5``."""

from __future__ import annotations

from collections.abc import Collection


def parsed(text: str) -> frozenset[int]:
    """``1,3-5`` → {1, 3, 4, 5}."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def shown(numbers: Collection[int]) -> str:
    """{1, 3, 4, 5} → ``1,3-5``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
