"""`rocketns completion`: the scripts of `completions/`, which shtab makes from the parsers.

They are made beforehand, by ``python -m tests.check.completions``, so that no shell waits for Python at the Tab key and
nobody needs shtab to run rocketns. A test compares.
"""

from __future__ import annotations

from importlib.resources import files


def completion(shell: str) -> str:
    """The script for a shell, one of `arguments.SHELLS`."""
    return (files("rocketns.tools") / "completions" / f"rocketns.{shell}").read_text("utf-8")
