"""The table of all checks, what they find in the facts, and in which order that is shown.

The order of the table is that of the path from a client to a queue: name servers, brokers, topics, groups. Of findings
with one weight, those of earlier checks are shown first. docs/doctor.md says what each of them means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from rocketns.doctor.checks import address, brokers, groups, missing, name_servers, registering, topics
from rocketns.doctor.facts import FleetFacts, Reaction
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import _
from rocketns.protocol.names import SELF_TEST_TOPIC


@dataclass(frozen=True, slots=True)
class Check:
    """``run`` gives its findings; none: all is well. Where ``applies`` is False it does not run, and is not said to be
    well.
    """

    name: str
    run: Callable[[FleetFacts], Iterable[Diagnosis]]
    applies: Callable[[FleetFacts], bool] = lambda _facts: True


ANSWERS = (Reaction.ANSWERED, Reaction.OTHER_PROTOCOL, Reaction.SPEAKS_TLS, Reaction.SPEAKS_PLAIN)


def answered(facts: FleetFacts) -> bool:
    """Whether something answers, at some address."""
    return any(one.outcome in ANSWERS for one in facts.name_servers)


def with_brokers(facts: FleetFacts) -> bool:
    """Whether some name server shows a broker."""
    return bool(facts.groups)


def with_topic(facts: FleetFacts) -> bool:
    """Whether some name server said that it has a topic that was asked for, or that it has not."""
    return any(topic in one.routes for one in facts.name_servers for topic in facts.options.topics)


def topics_answered(facts: FleetFacts) -> bool:
    """Whether a broker said so, too."""
    return with_topic(facts) and any(topic in one.topics for one in facts.brokers for topic in facts.options.topics)


def routed(facts: FleetFacts) -> bool:
    """Whether a topic that was asked for has queues."""
    return any(facts.queues(topic) for topic in facts.options.topics)


CHECKS: tuple[Check, ...] = (
    Check("name-server-reachable", name_servers.reachable),
    Check("name-server-kind", name_servers.kind, answered),
    Check("tls", name_servers.transport, answered),
    Check("no-broker", brokers.present, lambda facts: bool(facts.readable)),
    Check("two-masters", brokers.two_masters, with_brokers),
    Check("broker-in-two-clusters", brokers.clusters, with_brokers),
    Check("slave-without-master", brokers.no_master, with_brokers),
    Check("broker-address", address.address,
          lambda facts: any(one.outcome is not Reaction.NOT_TRIED for one in facts.addresses.values())),
    Check("registration-size", registering.registration_size, lambda facts: bool(facts.brokers)),
    Check("name-server-list", registering.lists,
          lambda facts: bool(facts.options.list_option) or any(one.own_list for one in facts.brokers)),
    Check("broker-registers-elsewhere", registering.elsewhere,
          lambda facts: any(one.configuration is not None for one in facts.brokers)),
    Check("topic-missing", missing.missing, lambda facts: bool(facts.options.topics)),
    Check("topic-not-registered", registering.unregistered_topic, topics_answered),
    Check("topic-on-some-name-servers", missing.on_some,
          lambda facts: with_topic(facts) and len(facts.name_servers) > 1),
    Check("topic-not-on-broker", topics.stale, topics_answered),
    Check("order-configuration", topics.order, topics.order_answered),
    Check("permission-wiped", topics.wiped,
          lambda facts: any(one.queues(SELF_TEST_TOPIC) for one in facts.readable)),
    Check("topic-read-only", topics.read_only, routed),
    Check("name-servers-agree", name_servers.agreement, lambda facts: len(facts.readable) > 1),
    Check("broker-id-moves", brokers.moves, with_brokers),
    Check("few-queues", topics.few, routed),
    Check("group", groups.group, lambda facts: bool(facts.options.groups and facts.brokers)),
    Check("clocks", brokers.clocks, lambda facts: any(one.clock is not None for one in facts.brokers)),
    Check("broker-version", brokers.version, lambda facts:
          facts.options.client_version is not None and any(one.version is not None for one in facts.brokers)),
)  # fmt: skip


EXIT_WELL, EXIT_ILL, EXIT_UNKNOWN = 0, 1, 2

FINDINGS_MAX = 20  # of one check and one state
LINES_MAX = 100  # of evidence, and of commands, of one finding


@dataclass(frozen=True, slots=True)
class Report:
    """``findings`` in the order to show them. ``well``: names of the checks that found nothing; ``skipped``: of those
    that did not run.

    ``more``: how many findings of a check are left out, because it has too many.
    """

    facts: FleetFacts
    findings: Sequence[Diagnosis]
    well: Sequence[str]
    skipped: Sequence[str]
    more: Mapping[str, int] = field(default_factory=dict)

    def of(self, state: Health) -> list[Diagnosis]:
        """The findings of one state, in order."""
        return [one for one in self.findings if one.state is state]

    @property
    def exit_status(self) -> int:
        if self.of(Health.ILL):
            return EXIT_ILL
        return EXIT_UNKNOWN if any(one.weight >= Weight.PARTLY for one in self.of(Health.UNKNOWN)) else EXIT_WELL


def run(facts: FleetFacts) -> Report:
    """The report of all checks."""
    found = {check.name: [replace(one, check=check.name) for one in check.run(facts)]
             for check in CHECKS if check.applies(facts)}  # fmt: skip
    kept, more = shortened(ranked(chain.from_iterable(found.values())))
    well = [name for name, findings in found.items() if not findings]
    return Report(facts, kept, well, [check.name for check in CHECKS if check.name not in found], more)


def ranked(findings: Iterable[Diagnosis]) -> list[Diagnosis]:
    """ILL before UNKNOWN; then by weight, else as they came. A cause stands before what follows."""
    ordered = sorted(findings, key=lambda one: (one.state, -one.weight))
    ranks: dict[int, Diagnosis] = {}
    led: set[str] = set()  # the checks whose findings are placed
    for one in ordered:
        if id(one) in ranks:
            continue
        if causes := {*one.follows} - led:
            ranks |= {id(cause): cause for cause in ordered if cause.check in causes and cause.state is Health.ILL}
            led |= causes
        ranks[id(one)] = one
    return list(ranks.values())


def shortened(findings: Iterable[Diagnosis]) -> tuple[list[Diagnosis], Mapping[str, int]]:
    """The first findings of each check, in the order given, and how many more each check has."""
    seen: Counter[tuple[str, Health]] = Counter()
    more: Counter[str] = Counter()
    kept: list[Diagnosis] = []
    for one in findings:
        seen[one.check, one.state] += 1
        if seen[one.check, one.state] <= FINDINGS_MAX:
            kept.append(_with_fewer_lines(one))
        else:
            more[one.check] += 1
    return kept, more


def _with_fewer_lines(one: Diagnosis) -> Diagnosis:
    return replace(one, evidence=_first(one.evidence, _("… and %(n)d more")),
                   commands=_first(one.commands, _("# … and %(n)d more")))  # fmt: skip


def _first(lines: tuple[str, ...], text: str) -> tuple[str, ...]:
    left = len(lines) - LINES_MAX
    return lines if left <= 0 else (*lines[:LINES_MAX], text % {"n": left})


def verdict(report: Report) -> str:
    """The likeliest cause, what cannot be told, or that all is well."""
    if ill := report.of(Health.ILL):
        words = {"sentence": ill[0].sentence, "topics": _(", ").join(report.facts.options.topics)}
        if ill[0].weight >= Weight.PARTLY:
            return _("Most likely: %(sentence)s") % words
        if report.facts.options.topics:
            return _("Nothing found here keeps clients of %(topics)s from working, but: %(sentence)s") % words
        return _("No client fails because of it, but: %(sentence)s") % words
    if unknown := report.of(Health.UNKNOWN):
        return _("Nothing wrong was found, but: %(sentence)s") % {"sentence": unknown[0].sentence}
    count = len(report.well)
    return _.plural("All is well: %(n)d check found nothing wrong.", "All is well: %(n)d checks found nothing wrong.",
                    count) % {"n": count}  # fmt: skip
