"""Sends a scenario's frames to rocketns and to Java, or to rocketns alone beside Java's recorded answers, and notes
where they differ: one function for each kind of step."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import TypeVar, cast

from interop.harness import codes
from interop.harness.wire import eventually
from interop.parity import compare, language
from interop.parity.compare import Difference, Parts
from interop.parity.language import Request, Scenario, Step
from interop.parity.requests import Writer
from interop.parity.servers import CLOSED, SILENT, Listeners, Outcome, Side, header_of, request, write_file
from interop.parity.setups import client_context
from interop.parity.tape import Tape
from rocketns.shadow.frames import split

WITHIN_S = 60.0
QUESTIONS = "questions"
SHOWN_MAX = 600
OPAQUE = re.compile(rb'"opaque":\d+')
# Steps that are done on each side and have no outcome.
EFFECTS = {language.Settle: Side.settle, language.Terminate: Side.terminate}
Found = TypeVar("Found", Outcome, list[Outcome], str)


@dataclass
class Play:
    """One play of a scenario in one form: `run` plays it and notes the ``differences``.

    ``sides`` are Java and rocketns. With a ``tape`` that is not being recorded, rocketns is alone, and Java's outcomes
    come from there.
    """

    scenario: Scenario
    writer: Writer
    sides: tuple[Side, ...]
    tape: Tape | None = None
    listeners: Listeners | None = None
    within_s: float = WITHIN_S
    # Whether many requests may be sent in one piece.
    in_one_piece: bool = True
    # Whether brokers can register, so that `settle` can see that all is applied.
    settles: bool = False
    known: compare.Known = field(default_factory=compare.Known)
    differences: list[Difference] = field(default_factory=list)
    number: int = 0

    def both(self, act: Callable[[Side], object]) -> None:
        """Do something on every server."""
        for side in self.sides:
            act(side)

    def ask(self, kind: type[Found], act: Callable[[Side], Found]) -> list[Found]:
        """What every server does, Java's first, without what depends on the machine."""
        found = [cast(Found, self._settled(side, act(side))) for side in self.sides]
        if self.tape is not None and self.tape.recording:
            self.tape.note(self.number, found[0])
        elif self.tape is not None:
            found.insert(0, cast(Found, self.tape.next(self.number, kind)))
        return found

    def _settled(self, side: Side, found: Outcome | list[Outcome] | str) -> Outcome | list[Outcome] | str:
        if isinstance(found, str):
            return compare.numberless(found.encode(), self.writer.ports).decode()
        if isinstance(found, list):
            return [cast(Outcome, self._settled(side, one)) for one in found]
        return Outcome(found.kind, found.frame and compare.settled(found.frame, side.home, self.writer.ports))

    def frame(self, what: Request | bytes) -> bytes:
        data = self.writer.frame(what, self.number)
        if isinstance(what, Request):
            self.known.note(what.code, self.writer.ext(what))
        else:
            self.known.note_header(data)
        return data

    def receive(self, on: str, data: bytes) -> list[Outcome]:
        """Send it to every server, and take one outcome from each."""
        self.both(lambda side: side.send(on, data))
        return self.ask(Outcome, lambda side: side.receive(on))

    def differ_in(self, part: str, found: Sequence[str], step: Step | None = None, about: str = "", *,
                  data: bytes = b"", outcomes: Sequence[Outcome] = ()) -> None:  # fmt: skip
        """Note it if the two texts differ. The ``outcomes`` are what was answered to ``data``."""
        if len(found) == 2 and found[0] != found[1]:
            self._differ({part: (found[0], found[1])}, step, about, (data, *outcomes) if outcomes else None)

    def _differ(self, parts: Parts, step: Step | None, about: str, pair: tuple[bytes, ...] | None = None) -> None:
        if parts:
            about = about or f"step {self.number}: {str(step)[:SHOWN_MAX]}"
            self.differences.append(Difference(about, parts, step, pair))  # type: ignore[arg-type]

    def compare(self, step: Step | None, found: Sequence[Outcome], data: bytes, *,
                exact: bool = False, part: str = "", about: str = "", may_close: bool = False) -> None:  # fmt: skip
        """Note it if rocketns' outcome is not Java's; ``data`` is what was asked.

        ``may_close``: a server may rightly close the connection before it answers.
        """
        assert set(found) != {SILENT}, f"no server answers {step}"
        if len(found) < 2 or (may_close and CLOSED in found):
            return
        java, here = found
        parts = {part + name: values for name, values in _parts(java, here, data, exact).items()}
        self._differ(parts, step, about, (data, java, here))  # type: ignore[arg-type]

    def compare_state(self) -> None:
        """Asked again and again until all is equal, for what comes later on one server than on the other."""
        before, mark = self.differences, self.tape.mark() if self.tape else 0
        if self.settles:
            self.both(Side.settle)

        def equal() -> bool:
            self.differences = []
            if self.tape is not None:
                self.tape.rewind(mark)
            self._compare_state()
            return not self.differences

        try:
            eventually(equal, 0 if before else self.within_s)
        except AssertionError:
            self.differences = before + self.differences
        else:
            self.differences = before

    def _compare_state(self) -> None:
        after = f"after step {self.number - 1}"
        answers = self._ask_all(list(compare.GLOBAL))
        says = [list(outcomes) for outcomes in zip(*(outcomes for _, outcomes in answers), strict=True)]
        answers += self._ask_all(compare.questions(self.known, says[0]))
        for question, outcomes in answers:
            self.compare(None, outcomes, b'"opaque"', about=f"{after}: {question}")
        strays = [compare.stray_address(one) for one in says]
        if any(strays):
            self.differ_in("an address of no broker in 304", strays, about=after)
        for on in sorted({step.on for step in self.scenario.steps}):
            states = self.ask(str, lambda side, on=on: side.state_of(on))  # type: ignore[misc]
            self.differ_in(f"connection {on}", states, about=after)

    def _ask_all(self, asked: list[compare.Question]) -> list[tuple[compare.Question, tuple[Outcome, ...]]]:
        size = len(asked) if self.in_one_piece else 1
        found: list[tuple[compare.Question, tuple[Outcome, ...]]] = []
        for start in range(0, len(asked), size):
            piece = asked[start : start + size]
            self.both(lambda side, piece=piece: compare.send_all(side, QUESTIONS, piece))  # type: ignore[misc]
            answers = self.ask(list, lambda side, piece=piece: side.receive_many(QUESTIONS, len(piece)))  # type: ignore
            found += zip(piece, zip(*answers, strict=True), strict=True)
        return found


def _parts(java: Outcome, here: Outcome, data: bytes, exact: bool) -> Parts:
    if java.kind != here.kind:
        return {"outcome": (f"{java.kind} {_shown(java)}", f"{here.kind} {_shown(here)}")}
    if java.kind != "answer":
        return {}
    return compare.differing(java.frame, here.frame, no_opaque=_has_no_opaque(data), exact=exact)


def _has_no_opaque(data: bytes) -> bool:
    """Whether a request leaves the opaque of its answer to the server. A binary header always has one."""
    return bool(data) and data[4:5] == b"\0" and b'"opaque"' not in data


def _shown(outcome: Outcome) -> str:
    return outcome.frame[8:SHOWN_MAX].decode("latin-1")


def run(play: Play) -> list[Difference]:
    """Play every step, then compare everything that can be asked."""
    for number, step in enumerate(play.scenario.steps, 1):
        play.number = number
        perform(step, play)
    if play.scenario.state:
        play.number = len(play.scenario.steps) + 1
        play.compare_state()
    return play.differences


@singledispatch
def perform(step: Step, play: Play) -> None:
    """Play one step and note differences in ``play.differences``."""
    play.both(EFFECTS[type(step)])


@perform.register(language.Ask)
def _(step: language.Ask, play: Play) -> None:
    data = play.frame(step.what)
    found = play.receive(step.on, data)
    play.compare(step, found, data, exact=step.exact, may_close=_is_overdue_soon(step.what))


def _is_overdue_soon(what: Request | bytes) -> bool:
    """Whether a scan may expire the registration, and close its connection, before the answer is written."""
    timeout = (what.ext or {}).get("heartbeatTimeoutMillis") if isinstance(what, Request) else None
    return timeout in {"-5", "0", "1", "300"}


@perform.register(language.Until)
def _(step: language.Until, play: Play) -> None:
    data = play.frame(step.what)
    has, lacks = (play.writer.fill_text(text).encode() for text in (step.has, step.lacks))

    def enough(outcome: Outcome) -> bool:
        if outcome.kind != "answer" or (step.code is not None and header_of(outcome.frame)["code"] != step.code):
            return False
        return has in outcome.frame and not (lacks and lacks in outcome.frame)

    found = play.ask(Outcome, lambda side: side.ask_until(step.on, data, enough, play.within_s))
    if step.compared:
        play.compare(step, found, data)


@perform.register(language.HowMany)
def _(step: language.HowMany, play: Play) -> None:
    data, text = play.frame(step.what), play.writer.fill_text(step.of).encode()
    found = play.receive(step.on, data)
    numbers = [str(outcome.frame.count(text)) for outcome in found]
    play.differ_in(f"how many {step.of}", numbers, step, data=data, outcomes=found)


@perform.register(language.Send)
def _(step: language.Send, play: Play) -> None:
    data = play.frame(step.what)
    play.both(lambda side: side.send(step.on, data))


@perform.register(language.Dribble)
def _(step: language.Dribble, play: Play) -> None:
    data = play.frame(step.what)
    for start in range(0, len(data), step.size):
        piece = data[start : start + step.size]
        play.both(lambda side, piece=piece: side.send(step.on, piece))  # type: ignore[misc]
    play.compare(step, play.ask(Outcome, lambda side: side.receive(step.on)), data)


@perform.register(language.Quiet)
def _(step: language.Quiet, play: Play) -> None:
    data = request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "quiet?"}, play.number)
    play.compare(step, play.receive(step.on, data), data)


@perform.register(language.Waits)
def _(step: language.Waits, play: Play) -> None:
    found = play.ask(Outcome, lambda side: side.next_move(step.on, step.for_s))
    if step.differs is None and len({one.kind for one in found}) == 2:
        # A running server that is still silent may only be slower than the other one.
        for place in (-1,) if play.tape else (-2, -1):
            if found[place] == SILENT:
                found[place] = play.sides[place].next_move(step.on, play.within_s)
    play.differ_in("outcome", [one.kind for one in found], step)


@perform.register(language.Closed)
def _(step: language.Closed, play: Play) -> None:
    play.compare(step, play.ask(Outcome, lambda side: side.next_move(step.on, play.within_s)), b"")


@perform.register(language.Together)
def _(step: language.Together, play: Play) -> None:
    frames = [play.writer.frame(what, number) for number, what in enumerate(step.what, 1)]
    play.both(lambda side: side.send(step.on, b"".join(frames)))
    if step.kinds_only:
        kinds = play.ask(str, lambda side: str(sorted({*map(_kind, side.receive_many(step.on, len(frames)))})))
        play.differ_in("kinds", kinds, step)
        return
    found = play.ask(list, lambda side: side.receive_many(step.on, len(frames)))
    for number, outcomes in enumerate(zip(*found, strict=False), 1):
        play.compare(step, outcomes, frames[0], part=f"answer {number} ")
    play.differ_in("answers", [str(len(outcomes)) for outcomes in found], step)


@perform.register(language.HangUp)
def _(step: language.HangUp, play: Play) -> None:
    play.both(lambda side: side.hang_up(step.on, step.half))


@perform.register(language.Handshake)
def _(step: language.Handshake, play: Play) -> None:
    def shake(side: Side) -> str:
        return side.handshake(step.on, client_context(step.client, step.version, side.home))

    def again(side: Side) -> str:
        side.hang_up(step.on)
        return found if step.until in (found := shake(side)) else ""

    def shake_until(side: Side) -> str:
        return str(eventually(lambda: again(side), play.within_s))

    play.differ_in("handshake", play.ask(str, shake_until if step.until else shake), step)


@perform.register(language.Write)
def _(step: language.Write, play: Play) -> None:
    play.both(lambda side: write_file(side.home / step.name, step.content))


@perform.register(language.SameFile)
def _(step: language.SameFile, play: Play) -> None:
    texts = play.ask(str, lambda side: compare.file_text((side.home / step.name).read_bytes(), side.home))
    play.differ_in(step.name, texts, step)


@perform.register(language.Notified)
def _(step: language.Notified, play: Play) -> None:
    assert play.listeners is not None
    listeners = play.listeners

    def taken(side: Side) -> str:
        is_ours = side is play.sides[-1] and step.rocketns is not None
        return _notifications(listeners.take(side.server.pid, step.rocketns if is_ours else step.count))  # type: ignore[arg-type]

    found = play.ask(str, taken)
    play.differ_in("notifications", found, step)


@perform.register(language.Expired)
def _(step: language.Expired, play: Play) -> None:
    addr = play.writer.fill_text(step.addr)
    play.both(lambda side: side.wait_for_expiry(step.on, addr))


@perform.register(language.Journalled)
def _(step: language.Journalled, play: Play) -> None:
    name = play.writer.fill_text(step.name).encode()
    files = (play.sides[-1].home / "journal").rglob
    eventually(lambda: any(name in file.read_bytes() for file in files("*") if file.is_file()))


@perform.register(language.Alone)
def _(step: language.Alone, play: Play) -> None:
    for side in play.sides:
        alone = replace(play, sides=(side,), tape=None)
        for one in step.steps:
            perform(one, alone)


@perform.register(language.Restart)
def _(step: language.Restart, play: Play) -> None:
    play.both(lambda side: side.restart(killed=step.killed))


@perform.register(language.Compare)
def _(_step: language.Compare, play: Play) -> None:
    play.compare_state()


def _kind(outcome: Outcome) -> tuple[str, ...]:
    if outcome.kind != "answer":
        return (outcome.kind,)
    header = header_of(outcome.frame)
    return (str(header["code"]), str(header.get("remark")), str(header.get("extFields")))


def _notifications(found: list[tuple[int, bytes]]) -> str:
    """The requests by listener. Their opaques are the servers' own; that several are the same is kept."""
    opaques: dict[bytes, bytes] = {}

    def numbered(match: re.Match[bytes]) -> bytes:
        return opaques.setdefault(match[0], b'"opaque":%d' % len(opaques))

    return "\n".join(f"{place}: {OPAQUE.sub(numbered, split(data).header).decode('latin-1')}" for place, data in found)
