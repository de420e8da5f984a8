"""Times on the command line and in sentences: ``500ms``, ``5s``, ``10m``, ``1h30m``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

_PART = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
# The parts in their order, from days to ms; or a number alone.
_TEXT = re.compile("".join(f"(?:{_PART}{unit})?" for unit in ("d", "h", "m(?!s)", "s", "ms")) + f"|{_PART}")
_PARTS_S = (86_400.0, 3_600.0, 60.0, 1.0, 0.001, 1.0)


def duration(low_s: float, high_s: float) -> Callable[[str], float]:
    """A type for argparse: seconds within these bounds. A number alone is seconds."""

    def parse(text: str) -> float:
        match = _TEXT.fullmatch(text)
        given = match.groups() if match else ()
        known = [float(part) * part_s for part, part_s in zip(given, _PARTS_S, strict=False) if part is not None]
        seconds = sum(known) if known else -1.0
        if not low_s <= seconds <= high_s:
            expected = f"a time from {shown(low_s)} to {shown(high_s)} expected, such as 5s, 10m or 1h30m"
            raise argparse.ArgumentTypeError(f"{text}: {expected}")
        return seconds

    return parse


def shown(seconds: float) -> str:
    """A time for people, rounded to what matters."""
    for unit_s, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"
