"""Sends a scenario's frames to both servers and says where they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interop.harness.wire import eventually
from interop.parity import even, state
from interop.parity.language import Request, Scenario, Step
from interop.parity.listeners import Listeners
from interop.parity.perform import perform
from interop.parity.requests import Writer
from interop.parity.side import SILENT, Outcome, Side

EQUAL_WITHIN_S = 10.0
UNTIL_WITHIN_S = 15.0
QUESTIONS = "questions"
SHOWN_MAX = 600

Parts = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Difference:
    """A step, or a question at the end, that the two servers answer differently: part by part Java's and rocketns'."""

    about: str
    parts: Parts
    step: Step | None = None

    def __str__(self) -> str:
        lines = [f"  {part}\n    Java     {java}\n    rocketns {here}" for part, (java, here) in self.parts.items()]
        return "\n".join([self.about, *lines])


@dataclass
class Play:
    """One play of a scenario in one form: `run` it, then look at ``differences``."""

    scenario: Scenario
    writer: Writer
    java: Side
    rocketns: Side
    listeners: Listeners | None = None
    within_s: float = UNTIL_WITHIN_S
    known: state.Known = field(default_factory=state.Known)
    differences: list[Difference] = field(default_factory=list)
    number: int = 0

    def run(self) -> list[Difference]:
        """Play every step, then compare everything that can be asked."""
        for number, step in enumerate(self.scenario.steps, 1):
            self.number = number
            perform(step, self)
        if self.scenario.state:
            self.number = len(self.scenario.steps) + 1
            self.compare_state()
        return self.differences

    def both(self, act: Callable[[Side], Any]) -> tuple[Any, Any]:
        """What both servers do, Java's first."""
        return act(self.java), act(self.rocketns)

    def frame(self, what: Request | bytes) -> bytes:
        data = self.writer.frame(what, self.number)
        if isinstance(what, Request):
            self.known.note(what.code, self.writer.ext(what))
        else:
            self.known.note_header(data)
        return data

    def differ(self, parts: Parts, step: Step | None = None, about: str = "") -> None:
        if parts:
            about = about or f"step {self.number}: {str(step)[:SHOWN_MAX]}"
            self.differences.append(Difference(about, parts, step))

    def compare(self, step: Step, found: tuple[Outcome, Outcome], data: bytes, *, exact: bool = False) -> None:
        assert found != (SILENT, SILENT), f"neither server answers {step}"
        self.differ(self.parts(found, data, exact=exact), step)

    def parts(self, found: tuple[Outcome, Outcome], data: bytes, *, exact: bool = False) -> Parts:
        java, here = found
        if java.kind != here.kind:
            return {"outcome": (f"{java.kind} {_shown(java)}", f"{here.kind} {_shown(here)}")}
        if java.kind != "answer":
            return {}
        return even.compare(java.frame, here.frame, self.homes, no_opaque=_has_no_opaque(data), exact=exact)

    @property
    def homes(self) -> tuple[Path, Path]:
        return self.java.home, self.rocketns.home

    def compare_state(self) -> None:
        """Asked again and again until all is equal, for what comes later on one server than on the other."""

        def equal() -> bool:
            self._state = self._state_differences()
            return not self._state

        try:
            eventually(equal, 0 if self.differences else min(self.within_s, EQUAL_WITHIN_S))
        except AssertionError:
            self.differences += self._state

    def _state_differences(self) -> list[Difference]:
        found = self._ask_all(list(state.GLOBAL))
        java, here = ([outcomes[side] for _, outcomes in found] for side in range(2))
        stray = (state.stray_address(java), state.stray_address(here))
        found += self._ask_all(state.questions(self.known, java))
        differences = [
            Difference(f"after step {self.number - 1}: {question}", parts)
            for question, outcomes in found
            if (parts := self.parts(outcomes, b'"opaque"'))
        ]
        parts = {"an address of no broker in 304": stray} if any(stray) else {}
        for on in sorted({step.on for step in self.scenario.steps}):
            states = self.both(lambda side, on=on: side.state_of(on))  # type: ignore[misc]
            if states[0] != states[1]:
                parts[f"connection {on}"] = states
        return differences + ([Difference(f"after step {self.number - 1}", parts)] if parts else [])

    def _ask_all(self, asked: list[state.Question]) -> list[tuple[state.Question, tuple[Outcome, Outcome]]]:
        self.both(lambda side: state.send_all(side, QUESTIONS, asked))
        found = self.both(lambda side: side.receive_many(QUESTIONS, len(asked)))
        return list(zip(asked, zip(*found, strict=True), strict=True))


def _has_no_opaque(data: bytes) -> bool:
    """Whether a request leaves the opaque of its answer to the server. A binary header always has one."""
    return bool(data) and data[4:5] == b"\0" and b'"opaque"' not in data


def _shown(outcome: Outcome) -> str:
    return outcome.frame[8:SHOWN_MAX].decode("latin-1")
