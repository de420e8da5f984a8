"""`rocketns completion`: the scripts of `completions/`, which shtab makes from the parsers.

A build makes them (`packaging/completions.py`), so that no shell waits for Python at the Tab key.
"""

from __future__ import annotations

from importlib.resources import files


def completion(shell: str) -> str:
    """The script for a shell, one of `arguments.SHELLS`."""
    return (files("rocketns.tools") / "completions" / f"rocketns.{shell}").read_text("utf-8")
