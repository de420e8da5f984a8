"""A fault: one text in one file replaced by another, and the tests that have to fail then. Read from faults/*.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FAULTS = Path(__file__).parent / "faults"


class UnusableFault(Exception):
    """The catalogue and the code no longer fit together."""


@dataclass(frozen=True)
class Fault:
    """``old`` occurs once in ``file``. ``tests`` are pytest's arguments. ``survives`` says why none can fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""

    @property
    def folder(self) -> str:
        """The package below rocketns."""
        return self.file.split("/")[1]

    @property
    def is_compiled(self) -> bool:
        return self.file.endswith((".pyx", ".pxd"))

    def plant(self, root: Path) -> str:
        """Change the file below ``root``; its former text. UnusableFault where the code has changed."""
        path = root / self.file
        text = path.read_text("utf-8")
        if text.count(self.old) != 1 or self.old == self.new:
            raise UnusableFault(f"{self.name}: {self.file} has the text {text.count(self.old)} times: {self.old!r}")
        path.write_text(text.replace(self.old, self.new), "utf-8")
        return text


def read_faults(folder: Path = FAULTS) -> list[Fault]:
    """The whole catalogue. UnusableFault where two have one name."""
    found: dict[str, Fault] = {}
    for path in sorted(folder.glob("*.toml")):
        for row in tomllib.loads(path.read_text("utf-8"))["fault"]:
            fault = Fault(**(row | {"tests": tuple(row["tests"])}))
            if fault.name in found:
                raise UnusableFault(f"{fault.name}: there are two of this name")
            found[fault.name] = fault
    return list(found.values())
