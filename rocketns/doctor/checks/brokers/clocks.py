"""Whether the clocks of brokers agree. A broker says its time by two numbers of request 28."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

from rocketns.doctor.checks.showing import listed
from rocketns.doctor.facts.brokers import BrokerFacts, Clock
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _

NAME = "clocks"
APART_MS = 5_000  # at least, whatever the uncertainty
FAR_APART_MS = 60_000  # timed messages, and consuming from a time on, are wrong by a minute then
LINES_MAX = 10


def clocks(facts: Facts) -> Iterator[Finding]:
    """One finding for all whose clocks differ from most others'. Of two, both."""
    told = [(one, one.clock) for one in facts.brokers if one.clock is not None]
    if not told:
        return
    middle = median_low([_middle(clock) for _broker, clock in told])
    usual = next(clock for _broker, clock in told if _middle(clock) == middle)
    apart = [(broker, clock) for broker, clock in told if _apart_ms(clock, usual) >= APART_MS]
    if apart:
        yield _finding(told, apart, usual)
    elif (off_ms := _apart_ms(usual, Clock(0, 0))) >= APART_MS:
        yield _own(usual, off_ms, len(told))


def _middle(clock: Clock) -> int:
    return (clock.from_ms + clock.to_ms) // 2


def _apart_ms(one: Clock, other: Clock) -> int:
    """How far they are apart at least."""
    return max(one.from_ms - other.to_ms, other.from_ms - one.to_ms, 0)


def _finding(
    told: Sequence[tuple[BrokerFacts, Clock]], apart: Sequence[tuple[BrokerFacts, Clock]], usual: Clock
) -> Finding:
    most_ms = max(_apart_ms(clock, usual) for _broker, clock in apart)
    names = listed({broker.name or broker.addr for broker, _clock in apart})
    sentence = _("The clock of %(brokers)s differs from those of other brokers by %(seconds).1f s or more: delayed "
                 "messages, and times of messages, are wrong by that.") % {
        "brokers": names, "seconds": most_ms / 1000}  # fmt: skip
    ordered = sorted(told, key=lambda one: _middle(one[1]))
    shown = ordered if len(ordered) <= LINES_MAX else [*ordered[: LINES_MAX // 2], *ordered[-LINES_MAX // 2 :]]
    lines = tuple(_line(broker, clock) for broker, clock in shown)
    weight = Weight.PARTLY if most_ms >= FAR_APART_MS else Weight.NOTE
    return Finding(NAME, State.ILL, sentence, lines, _commands(names), weight)


def _line(broker: BrokerFacts, clock: Clock) -> str:
    """The uncertainty is at least half a second: a broker counts whole seconds."""
    return _("%(broker)s (%(addr)s): %(ahead)+.1f s from this machine's clock, give or take %(unsure).1f s "
             "(bootTimestamp and runtime of request 28)") % {
        "broker": broker.name, "addr": broker.addr, "ahead": _middle(clock) / 1000,
        "unsure": (clock.to_ms - clock.from_ms) / 2000}  # fmt: skip


def _commands(names: str) -> tuple[str, ...]:
    return (_("# on the machine of %(brokers)s:") % {"brokers": names}, "timedatectl set-ntp true")


def _own(usual: Clock, off_ms: int, brokers: int) -> Finding:
    """All brokers agree, and this machine does not."""
    sentence = _("This machine's clock differs from the brokers' by %(seconds).1f s or more. Theirs agree.") % {
        "seconds": off_ms / 1000}  # fmt: skip
    evidence = _.plural("%(n)d broker: %(ahead)+.1f s from this machine's clock",
                        "%(n)d brokers: %(ahead)+.1f s from this machine's clock", brokers) % {
        "n": brokers, "ahead": _middle(usual) / 1000}  # fmt: skip
    return Finding(
        NAME, State.ILL, sentence, (evidence,), (_("# on this machine:"), "timedatectl set-ntp true"), Weight.NOTE
    )
