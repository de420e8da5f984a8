"""How checks write lists and commands, and how heavy a fault of some brokers is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Set

from rocketns.doctor.facts import FleetFacts, NameServerFacts
from rocketns.doctor.finding import Weight
from rocketns.doctor.words import _

NAMES_MAX = 5
# What a broker of 4.x and one of 5.x writes where a registration failed; the line behind it says why.
BROKER_LOG = "grep -iEA1 'registerBroker Ex|failed to register' ~/logs/rocketmqlogs/broker.log | tail"
# What no shell reads as more than a word.
_PLAIN = re.compile(r"[\w.%|:@/+-]*")


def listed(names: Iterable[str], most: int = NAMES_MAX) -> str:
    """The first names in order, and how many more there are."""
    ordered = sorted(names)
    shown = _(", ").join(ordered[:most])
    left = len(ordered) - most
    if left <= 0:
        return shown
    return _.plural("%(names)s and %(n)d more", "%(names)s and %(n)d more", left) % {"names": shown, "n": left}


def addresses_of(name_servers: Collection[NameServerFacts]) -> str:
    """Their addresses, in the order of the command line."""
    return _(", ").join(one.addr for one in name_servers)


def namesrv_addr(facts: FleetFacts) -> str:
    """The list of name servers as clients and brokers write it."""
    return ";".join(facts.options.name_servers)


def mqadmin(facts: FleetFacts, command: str, *words: str) -> str:
    """A command of mqadmin, which asks the name servers that can be read; all, where none can."""
    asked = ";".join(one.addr for one in facts.readable) or namesrv_addr(facts)
    return shlex.join(("mqadmin", command, "-n", asked, *words))


def again(facts: FleetFacts, *more: str) -> str:
    """The command that asks the same once more, with other options added, which need no quotes."""
    asked = facts.options
    words = ["rocketns", "doctor", namesrv_addr(facts)]
    given = (("--topic", asked.topics), ("--group", asked.groups), ("--broker", asked.brokers))
    words += [word for option, values in given for value in values for word in (option, value)]
    words += ["--from-client"] if asked.from_client and "--from-client" not in more else []
    words += ["-Dtls.enable=true"] if asked.tls and "-Dtls.enable=true" not in more else []
    return " ".join((shlex.join(words), *more))


def setting(name: str, value: str) -> str:
    """A line of broker.conf. A value of a peer that a shell could run is a comment: lines are copied."""
    line = f"{name}={value}"
    return line if _PLAIN.fullmatch(value) else f"# {line}"


def weight_of_brokers(facts: FleetFacts, ill: Set[str]) -> Weight:
    """Brokers by name. EXPLAINS where a topic that was asked for, or without one the fleet, has no other broker."""
    topics = [names for topic in facts.options.topics if (names := facts.queues(topic).keys())]
    if not facts.options.topics:
        return Weight.EXPLAINS if facts.groups.keys() <= ill else Weight.PARTLY
    if any(names <= ill for names in topics):
        return Weight.EXPLAINS
    return Weight.PARTLY if any(names & ill for names in topics) else Weight.ELSEWHERE
