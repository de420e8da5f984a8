"""What each kind of step does: one function a kind."""

from __future__ import annotations

import re
from functools import singledispatch
from typing import TYPE_CHECKING

from interop.golden.compare import split
from interop.harness import codes
from interop.harness.wire import eventually
from interop.parity import even, language
from interop.parity.certificates import client_context
from interop.parity.language import Step
from interop.parity.pair import write_file
from interop.parity.side import Outcome, Side, header_of, request

if TYPE_CHECKING:
    from interop.parity.play import Play

OPAQUE = re.compile(rb'"opaque":\d+')
# Steps that are done on each side and have no outcome.
EFFECTS = {language.Settle: Side.settle, language.Terminate: Side.terminate, language.Restart: Side.restart}


@singledispatch
def perform(step: Step, play: Play) -> None:
    """Play one step; what differs is noted in ``play.differences``."""
    play.both(EFFECTS[type(step)])


@perform.register(language.Ask)
def _(step: language.Ask, play: Play) -> None:
    data = play.frame(step.what)
    play.both(lambda side: side.send(step.on, data))
    play.compare(step, play.both(lambda side: side.receive(step.on)), data, exact=step.exact)


@perform.register(language.Until)
def _(step: language.Until, play: Play) -> None:
    data = play.frame(step.what)
    has, lacks = (play.writer.fill_text(text).encode() for text in (step.has, step.lacks))

    def enough(outcome: Outcome) -> bool:
        if outcome.kind != "answer" or (step.code is not None and header_of(outcome.frame)["code"] != step.code):
            return False
        return has in outcome.frame and not (lacks and lacks in outcome.frame)

    found = play.both(lambda side: side.ask_until(step.on, data, enough, play.within_s))
    if step.compared:
        play.compare(step, found, data)


@perform.register(language.HowMany)
def _(step: language.HowMany, play: Play) -> None:
    data, text = play.frame(step.what), play.writer.fill_text(step.of).encode()
    play.both(lambda side: side.send(step.on, data))
    java, here = (outcome.frame.count(text) for outcome in play.both(lambda side: side.receive(step.on)))
    play.differ({} if java == here else {f"how many {step.of}": (str(java), str(here))}, step)


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
    play.compare(step, play.both(lambda side: side.receive(step.on)), data)


@perform.register(language.Quiet)
def _(step: language.Quiet, play: Play) -> None:
    data = request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "quiet?"}, play.number)
    play.both(lambda side: side.send(step.on, data))
    play.compare(step, play.both(lambda side: side.receive(step.on)), data)


@perform.register(language.Waits)
def _(step: language.Waits, play: Play) -> None:
    java, here = play.both(lambda side: side.next_move(step.on, step.for_s))
    play.differ({} if java == here else {"outcome": (java.kind, here.kind)}, step)


@perform.register(language.Closed)
def _(step: language.Closed, play: Play) -> None:
    play.compare(step, play.both(lambda side: side.next_move(step.on, play.within_s)), b"")


@perform.register(language.Together)
def _(step: language.Together, play: Play) -> None:
    frames = [play.writer.frame(what, number) for number, what in enumerate(step.what, 1)]
    play.both(lambda side: side.send(step.on, b"".join(frames)))
    java, here = play.both(lambda side: side.receive_many(step.on, len(frames)))
    if step.kinds_only:
        kinds = [str(sorted({_kind(one) for one in outcomes})) for outcomes in (java, here)]
        play.differ({} if kinds[0] == kinds[1] else {"kinds": (kinds[0], kinds[1])}, step)
        return
    for number, pair in enumerate(zip(java, here, strict=False), 1):
        parts = play.parts(pair, frames[0])
        play.differ({f"answer {number} {part}": values for part, values in parts.items()}, step)
    play.differ({} if len(java) == len(here) else {"answers": (str(len(java)), str(len(here)))}, step)


@perform.register(language.HangUp)
def _(step: language.HangUp, play: Play) -> None:
    play.both(lambda side: side.hang_up(step.on, step.half))


@perform.register(language.Handshake)
def _(step: language.Handshake, play: Play) -> None:
    def shake(side: Side) -> str:
        return side.handshake(step.on, client_context(step.client, side.home))

    def again(side: Side) -> str:
        side.hang_up(step.on)
        return found if step.until in (found := shake(side)) else ""

    def shake_until(side: Side) -> str:
        return str(eventually(lambda: again(side), play.within_s))

    java, here = play.both(shake_until if step.until else shake)
    play.differ({} if java == here else {"handshake": (java, here)}, step)


@perform.register(language.Write)
def _(step: language.Write, play: Play) -> None:
    play.both(lambda side: write_file(side.home / step.name, step.content))


@perform.register(language.SameFile)
def _(step: language.SameFile, play: Play) -> None:
    java, here = (even.file_text(text, home) for text, home in zip(
        play.both(lambda side: (side.home / step.name).read_bytes()), play.homes, strict=True))  # fmt: skip
    play.differ({} if java == here else {step.name: (java, here)}, step)


@perform.register(language.Notified)
def _(step: language.Notified, play: Play) -> None:
    assert play.listeners is not None
    listeners = play.listeners
    java, here = (_notifications(found) for found in play.both(lambda side: listeners.take(side, step.count)))
    play.differ({} if java == here else {"notifications": (java, here)}, step)


@perform.register(language.Expired)
def _(step: language.Expired, play: Play) -> None:
    addr = play.writer.fill_text(step.addr)
    play.both(lambda side: side.wait_for_expiry(step.on, addr))


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
