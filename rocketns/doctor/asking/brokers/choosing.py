"""Which brokers are asked: those of the topics; otherwise some of each cluster, masters first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from rocketns.doctor.asking.brokers.requests import BROKERS_MAX
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broker as name servers show it; of one that was only given, nothing but its address is known.

    ``shown_by`` are the name servers that show it, ``by_all`` whether all that can be read do.
    """

    addr: str
    name: str = ""
    broker_id: int = 0
    cluster: str = ""
    shown_by: frozenset[str] = frozenset()
    by_all: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """``left_out`` counts the brokers that could have been asked, too."""

    chosen: tuple[Candidate, ...]
    left_out: int


def choose(options: Options, name_servers: Sequence[NameServerFacts]) -> Choice:
    """At most BROKERS_MAX, and those that the user named."""
    shown = _shown(name_servers)
    given = [shown.get(addr, Candidate(addr)) for addr in options.brokers]
    wanted = _of_topics(options.topics, name_servers)
    fitting = [
        one for one in shown.values() if (wanted is None or one.name in wanted) and one.addr not in options.brokers
    ]
    chosen = list(_in_turns(fitting))[:BROKERS_MAX]
    return Choice((*given, *chosen), len(fitting) - len(chosen))


def _shown(name_servers: Sequence[NameServerFacts]) -> dict[str, Candidate]:
    """All brokers by address, as the first name server that has it shows it."""
    readable = [one for one in name_servers if one.groups is not None]
    shown_by: dict[str, set[str]] = {}
    identities: dict[str, tuple[str, int, str]] = {}
    for name_server in readable:
        for name, group in (name_server.groups or {}).items():
            for broker_id, addr in group.addrs:
                identities.setdefault(addr, (name, broker_id, group.cluster or ""))
                shown_by.setdefault(addr, set()).add(name_server.addr)
    return {
        addr: Candidate(addr, *identity, frozenset(shown_by[addr]), len(shown_by[addr]) == len(readable))
        for addr, identity in identities.items()
    }


def _of_topics(topics: Iterable[str], name_servers: Sequence[NameServerFacts]) -> set[str] | None:
    """The names of the brokers of the topics. None: any broker may be a reason."""
    found: set[str] = set()
    for topic in topics:
        names = {name for one in name_servers for name in one.queues(topic)}
        if not names:
            return None
        found |= names
    return found or None


def _in_turns(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """One of each cluster after the other, masters before slaves."""
    clusters: dict[str, list[Candidate]] = {}
    for one in sorted(candidates, key=lambda one: (one.broker_id != 0, one.name, one.broker_id)):
        clusters.setdefault(one.cluster, []).append(one)
    turns = zip_longest(*(clusters[name] for name in sorted(clusters)))
    return (one for one in chain.from_iterable(turns) if one is not None)
