"""Topics that no name server has, or only some of them."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import addrs, listed, members, mqadmin, namesrv_addr
from rocketns.doctor.checks.topic.derived import instead
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.names import CREATION_TOPIC

MISSING, ON_SOME = "topic-missing", "topic-on-some-name-servers"
CAUSES = frozenset({"no-broker", "broker-registers-elsewhere", "registration-size"})
NO_ANSWER = frozenset({"name-server-reachable", "name-server-kind", "tls", "broker-registers-elsewhere"})

ELSE = N_("# or, if it exists in another fleet: the client's list of name servers is that of this one, correct it")
ONLY = N_("# if it exists in another fleet: the client's list of name servers is that of this one, correct it")


def missing(facts: Facts) -> Iterator[Finding]:
    """A finding for each topic that no name server has."""
    for topic in facts.missing_topics():
        lacking = [one for one in facts.name_servers if one.lacks(topic)]
        sentence = _("No broker has the topic %(topic)s: no name server has a route of it.") % {"topic": topic}
        evidence = (
            *(_("%(addr)s has no route of %(topic)s (request 105, code 17)") % {"addr": one.addr, "topic": topic}
              for one in lacking),
            *_context(facts),
        )  # fmt: skip
        creation = creating(facts, topic)
        commands = (*creation, _(ELSE if creation else ONLY))
        follows = CAUSES if facts.groups else CAUSES | NO_ANSWER
        yield Finding(MISSING, State.ILL, sentence, evidence, commands, Weight.EXPLAINS, follows)
    for topic in facts.options.topics:
        if not any(topic in one.routes for one in facts.name_servers):
            sentence = _("Whether a broker has the topic %(topic)s cannot be told: no name server answered.") % {
                "topic": topic
            }
            yield Finding(MISSING, State.UNKNOWN, sentence, follows=NO_ANSWER)


def _context(facts: Facts) -> Iterator[str]:
    """Which fleet it is, so that the user notices another one, and who would create the topic."""
    for cluster, names in sorted(facts.clusters.items()):
        yield _("here is the cluster %(cluster)s with the brokers %(brokers)s") % {
            "cluster": cluster, "brokers": listed(names)}  # fmt: skip
    if facts.groups and facts.queues(CREATION_TOPIC).keys() >= facts.groups.keys():
        yield _("every broker creates a topic at the first message of a producer; a consumer creates none")


def creating(facts: Facts, topic: str) -> tuple[str, ...]:
    """The command that creates a topic, for each cluster; or what to do instead."""
    if (other := instead(facts, topic)) is not None:
        return other
    clusters = sorted(cluster for cluster in facts.clusters if cluster)
    commands = tuple(mqadmin(facts, "updateTopic", "-c", cluster, "-t", topic) for cluster in clusters)
    if len(commands) > 1:
        return (_("# create it, in one of the clusters:"), *commands)
    return commands


def on_some(facts: Facts) -> Iterator[Finding]:
    """A finding for each topic that some name servers have, and others do not."""
    for topic in facts.options.topics:
        having = [one for one in facts.name_servers if one.has(topic)]
        lacking = [one for one in facts.name_servers if one.lacks(topic)]
        if having and lacking:
            yield _divided(facts, topic, having, lacking)


def _divided(facts: Facts, topic: str, having: list[NameServerFacts], lacking: list[NameServerFacts]) -> Finding:
    brokers = set(facts.queues(topic))
    absent = {name for name in brokers if not any(name in (one.groups or {}) for one in lacking)}
    words = {"topic": topic, "lacking": addrs(lacking), "having": addrs(having), "brokers": listed(absent or brokers)}
    if absent:
        sentence = _("The name server %(lacking)s has no route of the topic %(topic)s, which %(having)s has: the "
                     "broker %(brokers)s, which has the topic, is not registered there. Clients that ask there get "
                     "\"No route info of this topic\".") % words  # fmt: skip
    else:
        sentence = _("The name server %(lacking)s has no route of the topic %(topic)s, which %(having)s has, though "
                     "the broker %(brokers)s, which has the topic, is registered there. Clients that ask there get "
                     "\"No route info of this topic\".") % words  # fmt: skip
    evidence = (
        *(_("%(addr)s has no route of %(topic)s (request 105, code 17)") % {"addr": one.addr, "topic": topic}
          for one in lacking),
        *(_("%(addr)s has a route of %(topic)s: the brokers %(brokers)s")
          % {"addr": one.addr, "topic": topic, "brokers": listed(one.queues(topic))} for one in having),
    )  # fmt: skip
    return Finding(ON_SOME, State.ILL, sentence, evidence, _registering(facts, absent), Weight.EXPLAINS,
                   frozenset({"broker-registers-elsewhere", "registration-size"}))  # fmt: skip


def _registering(facts: Facts, absent: set[str]) -> tuple[str, ...]:
    if not absent:
        return (_("# a broker sends its topics again within 30 s; if the topic is still lacking then, see its log:"),
                "grep -i registerBroker ~/logs/rocketmqlogs/broker.log | tail")  # fmt: skip
    groups = facts.groups
    shown = "; ".join(f"{name}: {members(groups[name])}" for name in sorted(absent) if name in groups)
    return (
        _("# in broker.conf of these brokers, then restart them, one at a time (%(brokers)s):") % {"brokers": shown},
        f"namesrvAddr={namesrv_addr(facts)}",
    )
