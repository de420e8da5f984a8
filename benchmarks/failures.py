"""Errors that leave one cell empty without ending the run. The report shows the reason."""

from __future__ import annotations

import subprocess

REASON_CHARACTERS_MAX = 160


class CellFailed(RuntimeError):
    """A server refused, was too slow, answered wrongly or has ended; the text says which."""


# OSError includes broken connections and TimeoutError; AssertionError includes ProcessFailed.
EXPECTED = (CellFailed, AssertionError, OSError, subprocess.SubprocessError)


def reason(error: BaseException) -> str:
    """One short line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= REASON_CHARACTERS_MAX else text[: REASON_CHARACTERS_MAX - 1] + "…"
