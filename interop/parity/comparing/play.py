"""Sends a scenario's frames to Java and to rocketns in each of its modes, and notes where they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from interop.harness.wire import eventually
from interop.parity.comparing import even, state
from interop.parity.language import Request, Scenario, Step
from interop.parity.pairs.listeners import Listeners
from interop.parity.pairs.side import CLOSED, SILENT, Outcome, Side
from interop.parity.requests import Writer

EQUAL_WITHIN_S = 30.0
UNTIL_WITHIN_S = 60.0
QUESTIONS = "questions"
SHOWN_MAX = 600

Parts = dict[str, tuple[str, str]]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Difference:
    """A step, or a question at the end, that a mode of rocketns answers differently: part by part Java's and its."""

    about: str
    parts: Parts
    step: Step | None = None
    mode: str = ""
    # What was asked, and what Java and rocketns answered, where it is one pair.
    pair: tuple[bytes, Outcome, Outcome] | None = None

    def __str__(self) -> str:
        mode = f" ({self.mode})" if self.mode else ""
        shown = self.parts.items()
        lines = [f"  {part}\n    Java     {java}\n    rocketns {here}{mode}" for part, (java, here) in shown]
        return "\n".join([self.about, *lines])


@dataclass
class Play:
    """One play of a scenario in one form: `perform.run` plays it and notes the ``differences``."""

    scenario: Scenario
    writer: Writer
    java: Side
    ours: Sequence[Side]
    listeners: Listeners | None = None
    within_s: float = UNTIL_WITHIN_S
    # Whether many requests may be sent in one piece.
    in_one_piece: bool = True
    known: state.Known = field(default_factory=state.Known)
    differences: list[Difference] = field(default_factory=list)
    number: int = 0
    began_s: float = 0.0

    def all(self, act: Callable[[Side], Found]) -> list[Found]:
        """What every server does, Java's first."""
        return [act(side) for side in (self.java, *self.ours)]

    def frame(self, what: Request | bytes) -> bytes:
        data = self.writer.frame(what, self.number)
        if isinstance(what, Request):
            self.known.note(what.code, self.writer.ext(what))
        else:
            self.known.note_header(data)
        return data

    def differ_in(self, part: str, found: Sequence[str], step: Step | None = None, about: str = "", *,
                  data: bytes = b"", outcomes: Sequence[Outcome] = ()) -> None:  # fmt: skip
        """Note each mode of rocketns whose text, in the order of `all`, is not Java's. The ``outcomes`` are what was
        answered to ``data``."""
        java, *ours = found
        for place, (side, here) in enumerate(zip(self.ours, ours, strict=True), 1):
            pair = (data, outcomes[0], outcomes[place]) if outcomes else None
            self.differ({} if here == java else {part: (java, here)}, step, about, side, pair)

    def differ(self, parts: Parts, step: Step | None, about: str, side: Side,
               pair: tuple[bytes, Outcome, Outcome] | None = None) -> None:  # fmt: skip
        if parts:
            about = about or f"step {self.number}: {str(step)[:SHOWN_MAX]}"
            self.differences.append(Difference(about, parts, step, side.mode, pair))

    def compare(self, step: Step | None, found: Sequence[Outcome], data: bytes, *,
                exact: bool = False, part: str = "", about: str = "", may_close: bool = False) -> None:  # fmt: skip
        """Note each mode of rocketns whose outcome is not Java's; ``data`` is what was asked.

        ``may_close``: a server may rightly close the connection before it answers.
        """
        java, *ours = found
        assert set(found) != {SILENT}, f"no server answers {step}"
        for side, here in zip(self.ours, ours, strict=True):
            if may_close and CLOSED in (java, here):
                continue
            parts = self._parts(java, here, side, data, exact)
            named = {part + name: values for name, values in parts.items()}
            self.differ(named, step, about, side, (data, java, here))

    def _parts(self, java: Outcome, here: Outcome, side: Side, data: bytes, exact: bool) -> Parts:
        if java.kind != here.kind:
            return {"outcome": (f"{java.kind} {_shown(java)}", f"{here.kind} {_shown(here)}")}
        if java.kind != "answer":
            return {}
        homes = (self.java.home, side.home)
        return even.compare(java.frame, here.frame, homes, no_opaque=_has_no_opaque(data), exact=exact)

    def compare_state(self) -> None:
        """Asked again and again until all is equal, for what comes later on one server than on the other."""
        before = self.differences

        def equal() -> bool:
            self.differences = []
            self._compare_state()
            return not self.differences

        try:
            eventually(equal, 0 if before else min(self.within_s, EQUAL_WITHIN_S))
        except AssertionError:
            self.differences = before + self.differences
        else:
            self.differences = before

    def _compare_state(self) -> None:
        after = f"after step {self.number - 1}"
        answers = self._ask_all(list(state.GLOBAL))
        says = [[outcomes[place] for _, outcomes in answers] for place in range(1 + len(self.ours))]
        answers += self._ask_all(state.questions(self.known, says[0]))
        for question, outcomes in answers:
            self.compare(None, outcomes, b'"opaque"', about=f"{after}: {question}")
        strays = [state.stray_address(one) for one in says]
        for side, stray in zip(self.ours, strays[1:], strict=True):
            parts = {"an address of no broker in 304": (strays[0], stray)} if strays[0] or stray else {}
            self.differ(parts, None, after, side)
        for on in sorted({step.on for step in self.scenario.steps}):
            states = self.all(lambda side, on=on: side.state_of(on))  # type: ignore[misc]
            self.differ_in(f"connection {on}", states, about=after)

    def _ask_all(self, asked: list[state.Question]) -> list[tuple[state.Question, tuple[Outcome, ...]]]:
        size = len(asked) if self.in_one_piece else 1
        found: list[tuple[state.Question, tuple[Outcome, ...]]] = []
        for start in range(0, len(asked), size):
            piece = asked[start : start + size]
            self.all(lambda side, piece=piece: state.send_all(side, QUESTIONS, piece))  # type: ignore[misc]
            answers = self.all(lambda side, piece=piece: side.receive_many(QUESTIONS, len(piece)))  # type: ignore[misc]
            found += zip(piece, zip(*answers, strict=True), strict=True)
        return found


def _has_no_opaque(data: bytes) -> bool:
    """Whether a request leaves the opaque of its answer to the server. A binary header always has one."""
    return bool(data) and data[4:5] == b"\0" and b'"opaque"' not in data


def _shown(outcome: Outcome) -> str:
    return outcome.frame[8:SHOWN_MAX].decode("latin-1")
