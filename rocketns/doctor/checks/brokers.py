"""The clocks of brokers, and their versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

from rocketns.doctor.checks.showing import listed
from rocketns.doctor.facts import BrokerClock, BrokerFacts, FleetFacts
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import V5_0_0, version_name

CLOCKS = "clocks"
APART_MS = 5_000  # at least, whatever the uncertainty
FAR_APART_MS = 60_000  # timed messages, and consuming from a time on, are wrong by a minute then
LINES_MAX = 10
Told = tuple[BrokerFacts, BrokerClock]


def clocks(facts: FleetFacts) -> Iterator[Diagnosis]:
    """One finding for all whose clocks differ from most others'. Of two, both."""
    told = [(one, one.clock) for one in facts.brokers if one.clock is not None]
    if not told:
        return
    middle = median_low([_middle(clock) for _broker, clock in told])
    usual = next(clock for _broker, clock in told if _middle(clock) == middle)
    apart = [(broker, clock) for broker, clock in told if _apart_ms(clock, usual) >= APART_MS]
    if apart:
        yield _apart(told, apart, usual)
    elif (off_ms := _apart_ms(usual, BrokerClock(0, 0))) >= APART_MS:
        yield _own(usual, off_ms, len(told))


def _middle(clock: BrokerClock) -> int:
    return (clock.from_ms + clock.to_ms) // 2


def _apart_ms(one: BrokerClock, other: BrokerClock) -> int:
    """How far they are apart at least."""
    return max(one.from_ms - other.to_ms, other.from_ms - one.to_ms, 0)


def _apart(told: Sequence[Told], apart: Sequence[Told], usual: BrokerClock) -> Diagnosis:
    most_ms = max(_apart_ms(clock, usual) for _broker, clock in apart)
    names = listed({broker.name or broker.addr for broker, _clock in apart})
    sentence = _("The clock of %(brokers)s differs from those of other brokers by %(seconds).1f s or more: delayed "
                 "messages, and times of messages, are wrong by that.") % {
        "brokers": names, "seconds": most_ms / 1000}  # fmt: skip
    ordered = sorted(told, key=lambda one: _middle(one[1]))
    shown = ordered if len(ordered) <= LINES_MAX else [*ordered[: LINES_MAX // 2], *ordered[-LINES_MAX // 2 :]]
    lines = tuple(
        _("%(broker)s (%(addr)s): %(ahead)+.1f s from this machine's clock, give or take %(unsure).1f s "
          "(bootTimestamp and runtime of request 28)")
        % {"broker": broker.name, "addr": broker.addr, "ahead": _middle(clock) / 1000,
           "unsure": (clock.to_ms - clock.from_ms) / 2000}  # at least half a second: a broker counts whole ones
        for broker, clock in shown
    )  # fmt: skip
    commands = (_("# on the machine of %(brokers)s:") % {"brokers": names}, "timedatectl set-ntp true")
    weight = Weight.PARTLY if most_ms >= FAR_APART_MS else Weight.NOTE
    return Diagnosis(CLOCKS, Health.ILL, sentence, lines, commands, weight)


def _own(usual: BrokerClock, off_ms: int, brokers: int) -> Diagnosis:
    """All brokers agree, and this machine does not."""
    sentence = _("This machine's clock differs from the brokers' by %(seconds).1f s or more. Theirs agree.") % {
        "seconds": off_ms / 1000}  # fmt: skip
    evidence = _.plural("%(n)d broker: %(ahead)+.1f s from this machine's clock",
                        "%(n)d brokers: %(ahead)+.1f s from this machine's clock", brokers) % {
        "n": brokers, "ahead": _middle(usual) / 1000}  # fmt: skip
    return Diagnosis(
        CLOCKS, Health.ILL, sentence, (evidence,), (_("# on this machine:"), "timedatectl set-ntp true"), Weight.NOTE
    )


VERSION = "broker-version"
V4_6_0 = 333


# What clients from a version on can do, and older brokers do not answer.
FEATURES = (
    (V4_6_0, N_("request and reply (Producer.request): the broker has no REPLY_TOPIC")),
    (V5_0_0, N_("pop consumption, so simple consumers and clients over gRPC: request 200050 is not supported")),
    (V5_0_0, N_("messages of any delay (timer messages): the broker delivers them at once")),
    (V5_0_0, N_("static topics, and configurations of single topics and groups: requests 351 and 352")),
)


def version(facts: FleetFacts) -> Iterator[Diagnosis]:
    """One finding for each version that lacks something."""
    client = facts.options.client_version
    if client is None:
        return
    by_version: dict[int, set[str]] = {}
    for broker in facts.brokers:
        if broker.version is not None:
            by_version.setdefault(broker.version, set()).add(broker.name or broker.addr)
    for older, names in sorted(by_version.items()):
        lacking = [what for since, what in FEATURES if older < since <= client]
        if lacking:
            yield _older(client, older, names, lacking)


def is_told(facts: FleetFacts) -> bool:
    """Whether there are versions to compare: the client's, and that of a broker."""
    return facts.options.client_version is not None and any(one.version is not None for one in facts.brokers)


def _older(client: int, older: int, names: set[str], lacking: list[str]) -> Diagnosis:
    words = {"client": version_name(client), "broker": version_name(older), "names": listed(names)}
    sentence = _(
        "The brokers %(names)s have version %(broker)s: a client of %(client)s can do things that they cannot."
    )
    evidence = (
        _("%(names)s: the headers of answers say version %(broker)s") % words,
        *(_("not there: %(what)s") % {"what": _(what)} for what in lacking),
    )
    commands = (_("# use only what a broker of %(broker)s has, or a newer broker") % words,)
    return Diagnosis(VERSION, Health.ILL, sentence % words, evidence, commands, Weight.NOTE)
