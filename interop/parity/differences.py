"""The deliberate differences of docs/differences.md, and whether a play shows exactly those of its scenario."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

from interop.parity.language import Scenario, Step
from interop.parity.servers import Outcome
from rocketns.shadow.comparing.comparing import Comparing
from rocketns.shadow.comparing.listed import SEEN
from rocketns.shadow.pairs import Pair

FILE = Path(__file__).parents[2] / "docs" / "differences.md"
SECTION = re.compile(r"^## (?P<title>.+?) \{#(?P<id>[a-z0-9-]+)\}\n(?P<text>.*?)(?=^## |\Z)", re.M | re.S)
PARTS = ("Java", "rocketns", "Why", "Shown by", "Switch")
Parts = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Difference:
    """A step, or a question at the end, that rocketns answers differently: part by part Java's and its."""

    about: str
    parts: Parts
    step: Step | None = None
    # What was asked, and what Java and rocketns answered, where it is one pair.
    pair: tuple[bytes, Outcome, Outcome] | None = None

    def __str__(self) -> str:
        lines = [f"  {part}\n    Java     {java}\n    rocketns {here}" for part, (java, here) in self.parts.items()]
        return "\n".join([self.about, *lines])


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


def shows(scenario: Scenario) -> set[str]:
    """The ids of the differences that the scenario's steps name."""
    return {step.differs.id for step in scenario.steps if step.differs}


# Differences of which some leave nothing that one pair of answers shows.
PARTLY_SEEN = {"entries-without-end", "mappings-without-end"}
# Differences that leave the same in an answer as another one.
SAME_SIGN = {"registration-without-address": "entries-without-end"}


def misjudged(difference: Difference) -> str:
    """What `rocketns shadow` says of a listed difference, if it is wrong; empty if it names it, or cannot see it."""
    shown = seen(difference)
    if not shown or difference.pair is None or shown not in SEEN:
        return ""
    data, *answers = difference.pair
    java, here = (one.frame if one.kind == "answer" else None for one in answers)
    found = Comparing().compare(Pair(0, "", int(time.time() * 1000), data, java, here, 0.0, 0.0))
    right = found.listed in (shown, SAME_SIGN.get(shown)) or (shown in PARTLY_SEEN and not found.listed)
    return "" if right else f"{shown}, and rocketns shadow says {found}"


def seen(difference: Difference) -> str:
    """The id of the listed difference that this one shows, or "" if it is not listed."""
    expected = None if difference.step is None else difference.step.differs
    if expected is None:
        return ""
    java, here = ("\n".join(values) for values in zip(*difference.parts.values(), strict=True))
    return expected.id if re.search(expected.java, java) and re.search(expected.rocketns, here) else ""
