"""Writes the completion scripts of the shells, made by shtab from all parsers: python packaging/completions.py FOLDER.

`setup.py` runs it in each build, so that no shell waits for Python at the Tab key.
"""

from __future__ import annotations

import sys
from pathlib import Path

import programs
import shtab


def write(folder: Path) -> None:
    """One file for each shell."""
    folder.mkdir(parents=True, exist_ok=True)
    for shell in programs.tools.SHELLS:
        (folder / f"rocketns.{shell}").write_text(str(shtab.complete(programs.whole(), shell)), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
