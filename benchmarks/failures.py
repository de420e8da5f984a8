"""What may go wrong in one cell without ending the run: it becomes the reason why the cell is empty."""

from __future__ import annotations

import subprocess

REASON_CHARACTERS_MAX = 160


class CellFailed(RuntimeError):
    """A server that refuses, is too slow, answers wrongly or has ended; the text says which."""


# OSError has broken connections and TimeoutError; AssertionError has ProcessFailed.
EXPECTED = (CellFailed, AssertionError, OSError, subprocess.SubprocessError)


def reason(error: BaseException) -> str:
    """One short line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= REASON_CHARACTERS_MAX else text[: REASON_CHARACTERS_MAX - 1] + "…"
