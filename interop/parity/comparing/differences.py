"""The deliberate differences of docs/differences.md, and whether a play shows exactly those of its scenario."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from interop.parity.comparing.play import Difference
from interop.parity.language import Scenario

FILE = Path(__file__).parents[3] / "docs" / "differences.md"
SECTION = re.compile(r"^## (?P<title>.+?) \{#(?P<id>[a-z0-9-]+)\}\n(?P<text>.*?)(?=^## |\Z)", re.M | re.S)
PARTS = ("Java", "rocketns", "Why", "Shown by", "Switch")


@dataclass(frozen=True)
class Listed:
    """One section: its id, and the scenarios that show it."""

    id: str
    title: str
    parts: dict[str, str]

    @property
    def scenarios(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.parts.get("Shown by", ""))


def listed(text: str | None = None) -> dict[str, Listed]:
    """The sections of the file by their ids."""
    text = FILE.read_text("utf-8") if text is None else text
    found = (Listed(match["id"], match["title"], _parts(match["text"])) for match in SECTION.finditer(text))
    return {one.id: one for one in found}


def _parts(text: str) -> dict[str, str]:
    items = re.findall(r"^- \*\*(.+?):\*\* (.*?)(?=^- \*\*|\Z)", text, re.M | re.S)
    return {name: " ".join(value.split()) for name, value in items}


def shows(scenario: Scenario, mode: str = "") -> set[str]:
    """The ids of the differences that the scenario's steps name, of all modes or of one."""
    named = [step.differs for step in scenario.steps if step.differs]
    return {one.id for one in named if not mode or one.mode in ("", mode)}


def seen(difference: Difference) -> str:
    """The id of the listed difference that this one shows, or "" if it is not listed."""
    expected = None if difference.step is None else difference.step.differs
    if expected is None or expected.mode not in ("", difference.mode):
        return ""
    java, here = ("\n".join(values) for values in zip(*difference.parts.values(), strict=True))
    return expected.id if re.search(expected.java, java) and re.search(expected.rocketns, here) else ""
