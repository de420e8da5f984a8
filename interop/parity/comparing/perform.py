"""Executes steps: one function for each kind."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from functools import singledispatch

from interop.harness import codes
from interop.harness.wire import eventually
from interop.parity import language
from interop.parity.comparing import even
from interop.parity.comparing.play import Difference, Play
from interop.parity.language import Request, Step
from interop.parity.pairs.certificates import client_context
from interop.parity.pairs.listeners import ARRIVES_WITHIN_S
from interop.parity.pairs.pair import write_file
from interop.parity.pairs.side import Outcome, Side, header_of, request
from rocketns.shadow.comparing.frames import split

OPAQUE = re.compile(rb'"opaque":\d+')
# Steps that are done on each side and have no outcome.
EFFECTS = {language.Settle: Side.settle, language.Terminate: Side.terminate}


class TooLate(Exception):
    """The machine was so busy that a broker's time-out ended before the steps that must come before it."""


def run(play: Play) -> list[Difference]:
    """Play every step, then compare everything that can be asked. TooLate: an InTime says so."""
    play.began_s = time.monotonic()
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
    play.all(EFFECTS[type(step)])


@perform.register(language.Ask)
def _(step: language.Ask, play: Play) -> None:
    data = play.frame(step.what)
    play.all(lambda side: side.send(step.on, data))
    found = play.all(lambda side: side.receive(step.on))
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

    found = play.all(lambda side: side.ask_until(step.on, data, enough, play.within_s))
    if step.compared:
        play.compare(step, found, data)


@perform.register(language.HowMany)
def _(step: language.HowMany, play: Play) -> None:
    data, text = play.frame(step.what), play.writer.fill_text(step.of).encode()
    play.all(lambda side: side.send(step.on, data))
    found = play.all(lambda side: side.receive(step.on))
    numbers = [str(outcome.frame.count(text)) for outcome in found]
    play.differ_in(f"how many {step.of}", numbers, step, data=data, outcomes=found)


@perform.register(language.Send)
def _(step: language.Send, play: Play) -> None:
    data = play.frame(step.what)
    play.all(lambda side: side.send(step.on, data))


@perform.register(language.Dribble)
def _(step: language.Dribble, play: Play) -> None:
    data = play.frame(step.what)
    for start in range(0, len(data), step.size):
        piece = data[start : start + step.size]
        play.all(lambda side, piece=piece: side.send(step.on, piece))  # type: ignore[misc]
    play.compare(step, play.all(lambda side: side.receive(step.on)), data)


@perform.register(language.Quiet)
def _(step: language.Quiet, play: Play) -> None:
    data = request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "quiet?"}, play.number)
    play.all(lambda side: side.send(step.on, data))
    play.compare(step, play.all(lambda side: side.receive(step.on)), data)


@perform.register(language.Waits)
def _(step: language.Waits, play: Play) -> None:
    play.differ_in("outcome", [one.kind for one in play.all(lambda side: side.next_move(step.on, step.for_s))], step)


@perform.register(language.Closed)
def _(step: language.Closed, play: Play) -> None:
    play.compare(step, play.all(lambda side: side.next_move(step.on, play.within_s)), b"")


@perform.register(language.Together)
def _(step: language.Together, play: Play) -> None:
    frames = [play.writer.frame(what, number) for number, what in enumerate(step.what, 1)]
    play.all(lambda side: side.send(step.on, b"".join(frames)))
    found = play.all(lambda side: side.receive_many(step.on, len(frames)))
    if step.kinds_only:
        play.differ_in("kinds", [str(sorted({_kind(one) for one in outcomes})) for outcomes in found], step)
        return
    for number, outcomes in enumerate(zip(*found, strict=False), 1):
        play.compare(step, outcomes, frames[0], part=f"answer {number} ")
    play.differ_in("answers", [str(len(outcomes)) for outcomes in found], step)


@perform.register(language.HangUp)
def _(step: language.HangUp, play: Play) -> None:
    play.all(lambda side: side.hang_up(step.on, step.half))


@perform.register(language.Handshake)
def _(step: language.Handshake, play: Play) -> None:
    def shake(side: Side) -> str:
        return side.handshake(step.on, client_context(step.client, side.home))

    def again(side: Side) -> str:
        side.hang_up(step.on)
        return found if step.until in (found := shake(side)) else ""

    def shake_until(side: Side) -> str:
        return str(eventually(lambda: again(side), play.within_s))

    play.differ_in("handshake", play.all(shake_until if step.until else shake), step)


@perform.register(language.Write)
def _(step: language.Write, play: Play) -> None:
    play.all(lambda side: write_file(side.home / step.name, step.content))


@perform.register(language.SameFile)
def _(step: language.SameFile, play: Play) -> None:
    texts = play.all(lambda side: even.file_text((side.home / step.name).read_bytes(), side.home))
    play.differ_in(step.name, texts, step)


@perform.register(language.Notified)
def _(step: language.Notified, play: Play) -> None:
    assert play.listeners is not None
    listeners = play.listeners

    def taken(side: Side) -> str:
        within_s = ARRIVES_WITHIN_S if side is play.java else step.within_s
        return _notifications(listeners.take(side.server.pid, step.count, within_s))

    found = play.all(taken)
    play.differ_in("notifications", found, step)


@perform.register(language.Expired)
def _(step: language.Expired, play: Play) -> None:
    addr = play.writer.fill_text(step.addr)
    play.all(lambda side: side.wait_for_expiry(step.on, addr))


@perform.register(language.InTime)
def _(step: language.InTime, play: Play) -> None:
    if (taken_s := time.monotonic() - play.began_s) >= step.within_s:
        raise TooLate(
            f"the steps before step {play.number} took {taken_s:.1f} s, and have to be over in {step.within_s}"
        )


@perform.register(language.Alone)
def _(step: language.Alone, play: Play) -> None:
    for side in (play.java, *play.ours):
        alone = replace(play, java=side, ours=())
        for one in step.steps:
            perform(one, alone)


@perform.register(language.Restart)
def _(step: language.Restart, play: Play) -> None:
    play.all(lambda side: side.restart(killed=step.killed))


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

    return "\n".join(f"{place}: {OPAQUE.sub(numbered, split(data)[0]).decode('latin-1')}" for place, data in found)
