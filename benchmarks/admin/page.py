"""The results as a table in Markdown, each beside what it should be."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.admin.cpu import interval
from benchmarks.admin.servers import OFF, ON

PORT_MB_MAX = 40.0
SHOWN = ("p50", "p99", "sent p99", "registrations/s", "cores")


def page(result: dict[str, Any]) -> str:
    """The whole page."""
    about = result["machine"]
    head = (
        f"`{about['command']}`, {result['when']}, rocketns {about['commit']}; {about['cores']} cores, "
        f"{about['processor']}, Python {about['Python']}; load average before: {about['load average before']}"
    )
    lines = [head, "", "| What | Off | On | On beside off | Aim |", "|---|---|---|---|---|"]
    lines += [*_instructions(result.get("instructions")), _cpu(result["cpu_us"]), *_memory(result["memory_mb"])]
    return "\n".join([*lines, "", *_storm(result["storm_us"]), ""])


def _instructions(found: dict[str, float] | None) -> list[str]:
    if found is None:
        return ["| instructions of a reactor for a lookup | | | valgrind is not installed | |"]
    more = found[ON] / found[OFF] - 1
    return [_row("instructions of a reactor for a lookup, one outstanding", f"{found[OFF]:,.1f}", f"{found[ON]:,.1f}",
                 f"{more:+.2%}", "not more than +1 %")]  # fmt: skip


def _cpu(found: dict[str, Sequence[float]]) -> str:
    ratio, low, high = interval(found[OFF], found[ON])
    off, on = (f"{statistics.median(found[key]):.3f}" for key in (OFF, ON))
    said = f"{ratio - 1:+.1%}, 95 % of {len(found[OFF])} rounds' medians: {low - 1:+.1%} to {high - 1:+.1%}"
    return _row("CPU µs of the process for a lookup, 512 outstanding", off, on, said, "not more than +1 %")


def _memory(found: dict[str, float]) -> list[str]:
    off = found["without the port"]
    return [
        _row(
            f"resident MB {what}",
            f"{off:.1f}",
            f"{mb:.1f}",
            f"{mb - off:+.1f} MB",
            f"not more than +{PORT_MB_MAX:g} MB",
        )
        for what, mb in found.items()
        if what != "without the port"
    ]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _storm(found: dict[str, list[dict[str, float]]]) -> list[str]:
    lines = [
        "Lookups at 2,000 a second while brokers with 10,000 topics register, µs, medians of the rounds:", "",
        _row("", *SHOWN), "|---" * (len(SHOWN) + 1) + "|",
    ]  # fmt: skip
    for what, rounds in found.items():
        lines.append(_row(what, *(f"{statistics.median(one[name] for one in rounds):,.1f}" for name in SHOWN)))
    return lines
