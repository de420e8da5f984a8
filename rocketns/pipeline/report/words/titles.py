"""The sentence that says what is wrong, where, since when, and whether it goes on."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.pipeline.contract import times
from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.text import microseconds, short
from rocketns.pipeline.report.words.names import brokers, servers, topics


def title(incident: Incident, t1: int) -> str:
    """What is wrong, where, since when, and whether it goes on; ``t1``: the end of the observation, whose day needs no
    date. A sentence without its full stop."""
    return TITLES[incident.kind](incident, _Clock(t1))


class _Clock:
    def __init__(self, t1: int) -> None:
        self._day = times.moment(t1 - 1)[:10]

    def at(self, us: int) -> str:
        text = times.moment(us)
        return text[11:16] if text.startswith(self._day) else text[:16]

    def span(self, incident: Incident) -> str:
        """``since 09:02 (still)`` or ``for 39 min, from 09:02``."""
        if incident.going_on:
            return f"since {self.at(incident.t1)}{' or before' if incident.before else ''} (still)"
        least, since = ("at least ", "or before") if incident.before else ("", "on")
        return f"for {least}{microseconds(incident.lasted_us)}, from {self.at(incident.t1)} {since}"


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith(("all ", "slave ")) else text


def _was(incident: Incident, count: int) -> str:
    return ("is" if incident.going_on else "was") if count == 1 else ("are" if incident.going_on else "were")


def _missing(incident: Incident, clock: _Clock) -> str:
    verb = _was(incident, len(incident.brokers))
    return f"{_begin(brokers(incident))} {verb} missing at {servers(incident.ns)} {clock.span(incident)}"


def _stale(what: str) -> Callable[[Incident, _Clock], str]:
    def sentence(incident: Incident, clock: _Clock) -> str:
        many = len(incident.ns) > 1
        verb = "" if not incident.going_on else "" if many else "s"
        shows = f"{'show' if incident.going_on else 'showed'}{verb}"
        than = "different" if len(incident.ns) == len(incident.lanes) else "other"
        tail = "" if than == "different" else " than the rest"
        where, who = f"{_of(incident)} on {brokers(incident)}", servers(incident.ns)
        return f"{who} {shows} {than} {what}{tail} for {where} {clock.span(incident)}"

    return sentence


def _of(incident: Incident) -> str:
    if not incident.harm.topics:
        return "system topics or those of consumer groups"
    sample, count = incident.harm.sample, incident.harm.topics
    return f"topic {short(sample[0])}" if count == 1 and sample else topics(incident.harm)


def _gone(verb: str) -> Callable[[Incident, _Clock], str]:
    def sentence(incident: Incident, clock: _Clock) -> str:
        what = f"{_begin(brokers(incident))} {verb} at {clock.at(incident.t1)}"
        return (
            f"{what} and is not back (still)"
            if incident.going_on
            else f"{what} and was away for {microseconds(incident.lasted_us)}"
        )

    return sentence


def _flap(incident: Incident, clock: _Clock) -> str:
    where = f" at {servers(incident.ns)}" if len(incident.ns) < len(incident.lanes) else ""
    count = f"gone {incident.times} times, {microseconds(incident.away_us)} in all"
    who, begin = _begin(brokers(incident)), clock.at(incident.t1)
    if incident.going_on:
        return f"{who} comes and goes{where} since {begin} (still): {count}"
    return f"{who} came and went{where} from {begin} to {clock.at(incident.t2)}: {count}"


def _restarted(verb: str) -> Callable[[Incident, _Clock], str]:
    def sentence(incident: Incident, clock: _Clock) -> str:
        away = microseconds(incident.away_us)
        what = f"{servers(incident.ns)} {verb} at {clock.at(incident.t1)} and was away for {away}"
        if not incident.brokers:
            return what
        many = f"{len(incident.brokers)} brokers" if len(incident.brokers) > 1 else brokers(incident)
        if incident.going_on:
            return f"{what}, and has no routes to {many} yet (still)"
        without = microseconds(max(0, incident.lasted_us - incident.away_us))
        return f"{what}, then without routes to {many} for {without}"

    return sentence


def _ended(verb: str) -> Callable[[Incident, _Clock], str]:
    return lambda incident, clock: f"{servers(incident.ns)} {verb} {clock.span(incident)}"


def _missing_topic(incident: Incident, clock: _Clock) -> str:
    topic, count = short(incident.topic), f"{incident.harm.misses:,} times"
    if incident.going_on:
        return f"Clients ask for topic {topic}, which no broker has, since {clock.at(incident.t1)} (still): {count}"
    return f"Clients asked for topic {topic}, which no broker has, {clock.span(incident)}: {count}"


TITLES: dict[Kind, Callable[[Incident, _Clock], str]] = {
    Kind.MISSING: _missing,
    Kind.STALE_ROUTES: _stale("routes"),
    Kind.STALE_PERMISSIONS: _stale("permissions"),
    Kind.CRASH: _gone("crashed"),
    Kind.DEAD: _gone("stopped sending heartbeats"),
    Kind.LOST: _gone("went"),
    Kind.GONE: _gone("disappeared"),
    Kind.FLAP: _flap,
    Kind.RESTARTED: _restarted("restarted"),
    Kind.KILLED: _restarted("was killed"),
    Kind.STOPPED: _ended("is stopped"),
    Kind.SILENT: _ended("writes nothing"),
    Kind.MISSING_TOPIC: _missing_topic,
}
