"""The sentence that says what is wrong, where, since when, and whether it goes on."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.pipeline.contract import times
from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.text import microseconds, short
from rocketns.pipeline.report.words.names import brokers, servers, topics


def title(one: Incident, t1: int) -> str:
    """What is wrong, where, since when, and whether it goes on; ``t1``: the end of the observation, whose day needs no
    date. A sentence without its full stop."""
    return TITLES[one.kind](one, _Clock(t1))


class _Clock:
    def __init__(self, t1: int) -> None:
        self._day = times.moment(t1 - 1)[:10]

    def at(self, us: int) -> str:
        text = times.moment(us)
        return text[11:16] if text.startswith(self._day) else text[:16]

    def span(self, one: Incident) -> str:
        """``since 09:02 (still)`` or ``for 39 min, from 09:02``."""
        if one.going_on:
            return f"since {self.at(one.t1)}{' or before' if one.before else ''} (still)"
        least, since = ("at least ", "or before") if one.before else ("", "on")
        return f"for {least}{microseconds(one.lasted_us)}, from {self.at(one.t1)} {since}"


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith(("all ", "slave ")) else text


def _was(one: Incident, count: int) -> str:
    return ("is" if one.going_on else "was") if count == 1 else ("are" if one.going_on else "were")


def _missing(one: Incident, clock: _Clock) -> str:
    verb = _was(one, len(one.brokers))
    return f"{_begin(brokers(one))} {verb} missing at {servers(one.ns)} {clock.span(one)}"


def _stale(what: str) -> Callable[[Incident, _Clock], str]:
    def sentence(one: Incident, clock: _Clock) -> str:
        many = len(one.ns) > 1
        verb = "" if not one.going_on else "" if many else "s"
        shows = f"{'show' if one.going_on else 'showed'}{verb}"
        than = "different" if len(one.ns) == len(one.lanes) else "other"
        tail = "" if than == "different" else " than the rest"
        return f"{servers(one.ns)} {shows} {than} {what}{tail} for {_of(one)} on {brokers(one)} {clock.span(one)}"

    return sentence


def _of(one: Incident) -> str:
    if not one.harm.topics:
        return "system topics or those of consumer groups"
    return f"topic {short(one.harm.sample[0])}" if one.harm.topics == 1 and one.harm.sample else topics(one.harm)


def _gone(verb: str) -> Callable[[Incident, _Clock], str]:
    def sentence(one: Incident, clock: _Clock) -> str:
        what = f"{_begin(brokers(one))} {verb} at {clock.at(one.t1)}"
        return (
            f"{what} and is not back (still)"
            if one.going_on
            else f"{what} and was away for {microseconds(one.lasted_us)}"
        )

    return sentence


def _flap(one: Incident, clock: _Clock) -> str:
    where = f" at {servers(one.ns)}" if len(one.ns) < len(one.lanes) else ""
    count = f"gone {one.times} times, {microseconds(one.away_us)} in all"
    if one.going_on:
        return f"{_begin(brokers(one))} comes and goes{where} since {clock.at(one.t1)} (still): {count}"
    return f"{_begin(brokers(one))} came and went{where} from {clock.at(one.t1)} to {clock.at(one.t2)}: {count}"


def _restarted(verb: str) -> Callable[[Incident, _Clock], str]:
    def sentence(one: Incident, clock: _Clock) -> str:
        what = f"{servers(one.ns)} {verb} at {clock.at(one.t1)} and was away for {microseconds(one.away_us)}"
        if not one.brokers:
            return what
        many = f"{len(one.brokers)} brokers" if len(one.brokers) > 1 else brokers(one)
        if one.going_on:
            return f"{what}, and has no routes to {many} yet (still)"
        return f"{what}, then without routes to {many} for {microseconds(max(0, one.lasted_us - one.away_us))}"

    return sentence


def _ended(verb: str) -> Callable[[Incident, _Clock], str]:
    return lambda one, clock: f"{servers(one.ns)} {verb} {clock.span(one)}"


def _missing_topic(one: Incident, clock: _Clock) -> str:
    topic, count = short(one.topic), f"{one.harm.misses:,} times"
    if one.going_on:
        return f"Clients ask for topic {topic}, which no broker has, since {clock.at(one.t1)} (still): {count}"
    return f"Clients asked for topic {topic}, which no broker has, {clock.span(one)}: {count}"


TITLES: dict[Kind, Callable[[Incident, _Clock], str]] = {
    Kind.MISSING: _missing,
    Kind.STALE_ROUTES: _stale("routes"),
    Kind.STALE_PERMISSIONS: _stale("permissions"),
    Kind.CRASH: _gone("crashed"),
    Kind.DEAD: _gone("stopped sending heartbeats"),
    Kind.LOST: _gone("went"),
    Kind.FLAP: _flap,
    Kind.RESTARTED: _restarted("restarted"),
    Kind.KILLED: _restarted("was killed"),
    Kind.STOPPED: _ended("is stopped"),
    Kind.SILENT: _ended("writes nothing"),
    Kind.MISSING_TOPIC: _missing_topic,
}
