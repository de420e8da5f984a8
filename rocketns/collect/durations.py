"""Times on the command line and in sentences: ``500ms``, ``5s``, ``10m``, ``1h``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

_UNITS_S = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_TEXT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h|d|)")


def duration(low_s: float, high_s: float) -> Callable[[str], float]:
    """A type for argparse: seconds within these bounds. A number alone is seconds."""

    def parse(text: str) -> float:
        match = _TEXT.fullmatch(text)
        seconds = float(match[1]) * _UNITS_S[match[2]] if match else -1.0
        if not low_s <= seconds <= high_s:
            expected = f"a time from {shown(low_s)} to {shown(high_s)} expected, such as 5s or 10m"
            raise argparse.ArgumentTypeError(f"{text}: {expected}")
        return seconds

    return parse


def shown(seconds: float) -> str:
    """A time for people, rounded to what matters."""
    for unit_s, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"
