"""Topics that no name server has, or only some of them: misspelt, not created, not registered everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rocketns.doctor.asking.requests import RETRY_PREFIX
from rocketns.doctor.checks.registering import WAIT, on_their_way
from rocketns.doctor.checks.showing import BROKER_LOG, addresses_of, again, listed, mqadmin, namesrv_addr
from rocketns.doctor.facts import FleetFacts
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import N_, _
from rocketns.fleet.nearest import nearest
from rocketns.protocol.names import CREATION_TOPIC, is_valid

RETRY = N_("# a broker creates it when the first consumer of the group connects; ask for the group:")
TEXTS = {
    "%DLQ%": N_("# a broker creates it with the first message that a consumer failed to process too often; without "
                "such a message nothing is wrong"),
    "%LMQ%": N_("# a light message queue has no route: clients look up the topic that it belongs to"),
    "SCHEDULE_TOPIC_": N_("# a broker makes this topic for itself; no client uses it"),
    "rmq_sys_": N_("# a broker makes this topic for itself; no client uses it"),
}  # fmt: skip


def instead(facts: FleetFacts, topic: str) -> tuple[str, ...] | None:
    """What to do instead of creating the topic. None: it is one to create."""
    if not is_valid(topic):
        return ()
    if topic.startswith(RETRY_PREFIX):
        group = topic.removeprefix(RETRY_PREFIX)
        asked = replace(facts.options, topics=(), groups=(group,))
        return (_(RETRY), again(replace(facts, options=asked))) if group else ()
    text = next((text for beginning, text in TEXTS.items() if topic.startswith(beginning)), None)
    return None if text is None else (_(text),)


CAUSES = ("no-broker", "broker-registers-elsewhere", "registration-size")
NO_ANSWER = ("name-server-reachable", "name-server-kind", "tls", "broker-registers-elsewhere")

ELSE = N_("# or, if it exists in another fleet: the client's list of name servers is that of this one, correct it")
ONLY = N_("# if it exists in another fleet: the client's list of name servers is that of this one, correct it")


def missing(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each topic that no name server has, with all that is known of why."""
    for topic in facts.missing_topics():
        yield _missing(facts, topic)
    for topic in facts.options.topics:
        if not any(topic in one.routes for one in facts.name_servers):
            sentence = _("Whether a broker has the topic %(topic)s cannot be told: no name server answered.") % {
                "topic": topic
            }
            yield Diagnosis(sentence, follows=NO_ANSWER, state=Health.UNKNOWN)


def _missing(facts: FleetFacts, topic: str) -> Diagnosis:
    names = near(topic, facts) if is_valid(topic) else ()
    likely = [name for name in names if not _is_series(topic, name)]
    words = {"topic": topic, "name": (likely or [""])[0]}
    creators = set(facts.queues(CREATION_TOPIC))
    # Where some name server has brokers, and said which of them have TBW102.
    is_sure = bool(facts.groups) and any(CREATION_TOPIC in one.routes for one in facts.readable)
    nobody_creates = is_sure and not creators and instead(facts, topic) is None
    weight = Weight.PRECISELY
    if not is_valid(topic):
        sentence = _("No broker can have a topic named \"%(topic)s\": a name has the characters A-Z, a-z, 0-9, %%, |, "
                     "- and _, and at most 127 of them.")  # fmt: skip
    elif likely:
        sentence = _misspelt(topic, likely[0])
    elif nobody_creates:
        sentence = _("The topic %(topic)s was never created, and no broker creates topics by itself "
                     "(autoCreateTopicEnable is off).")  # fmt: skip
    else:
        sentence, weight = _("No broker has the topic %(topic)s: no name server has a route of it."), Weight.EXPLAINS
    evidence = (
        *(_("%(addr)s has no route of %(topic)s (request 105, code 17)") % {"addr": one.addr, "topic": topic}
          for one in facts.name_servers if one.lacks(topic)),
        *_listing(facts, names, words["name"]),
        *_context(facts),
        *(_creation(facts, set(facts.groups) - creators) if is_sure and not creators >= facts.groups.keys() else ()),
    )  # fmt: skip
    follows = CAUSES if facts.groups else CAUSES + NO_ANSWER
    commands = _repair(facts, words, nobody_creates=nobody_creates)
    return Diagnosis(sentence % words, evidence, commands, weight, follows)


def _repair(facts: FleetFacts, words: Mapping[str, str], *, nobody_creates: bool) -> tuple[str, ...]:
    creation = creating(facts, words["topic"])
    return (
        *((_("# in the client: the topic %(name)s instead of %(topic)s") % words,
           _("# or, if another topic is meant, create it:")) if words["name"] else ()),
        *creation,
        *((_("# or, where topics may come into being by themselves, in broker.conf of every broker, then restart it:"),
           "autoCreateTopicEnable=true") if nobody_creates else ()),
        _(ELSE if creation else ONLY),
    )  # fmt: skip


def _context(facts: FleetFacts) -> Iterator[str]:
    """Which fleet it is, so that the user notices another one, and who would create the topic."""
    for cluster, names in sorted(facts.clusters.items()):
        yield _("here is the cluster %(cluster)s with the brokers %(brokers)s") % {
            "cluster": cluster, "brokers": listed(names)}  # fmt: skip
    if facts.groups and facts.queues(CREATION_TOPIC).keys() >= facts.groups.keys():
        yield _("every broker creates a topic at the first message of a producer; a consumer creates none")


def creating(facts: FleetFacts, topic: str) -> tuple[str, ...]:
    """The command that creates a topic, for each cluster; or what to do instead."""
    if (other := instead(facts, topic)) is not None:
        return other
    clusters = sorted(cluster for cluster in facts.clusters if cluster)
    commands = tuple(mqadmin(facts, "updateTopic", "-c", cluster, "-t", topic) for cluster in clusters)
    if len(commands) > 1:
        return (_("# create it, in one of the clusters:"), *commands)
    return commands


def on_some(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each topic that some name servers have, and others do not."""
    for topic in facts.divided_topics():
        yield _divided(facts, topic)


def _divided(facts: FleetFacts, topic: str) -> Diagnosis:
    having = [one for one in facts.name_servers if one.has(topic)]
    lacking = [one for one in facts.name_servers if one.lacks(topic)]
    brokers = set(facts.queues(topic))
    absent = {name for name in brokers if not any(name in (one.groups or {}) for one in lacking)}
    words = {
        "topic": topic,
        "lacking": addresses_of(lacking),
        "having": addresses_of(having),
        "brokers": listed(absent or brokers),
    }
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
    commands: tuple[str, ...]
    if not absent:
        commands = (
            _("# a broker sends its topics again within 30 s; if the topic is still lacking then, see its log:"),
            BROKER_LOG,
        )
    elif all(absent <= on_their_way(facts, one) for one in lacking):
        commands = (_(WAIT),)
    else:
        shown = "; ".join(f"{name}: {facts.groups[name].members}" for name in sorted(absent) if name in facts.groups)
        commands = (
            _("# in broker.conf of these brokers, then restart them, one at a time (%(brokers)s):")
            % {"brokers": shown},
            f"namesrvAddr={namesrv_addr(facts)}",
        )
    follows = ("broker-registers-elsewhere", "registration-size")
    return Diagnosis(sentence, evidence, commands, Weight.EXPLAINS, follows)


_NUMBERS = re.compile("[0-9]+")
# Brokers make these of groups and of topics: nobody means one that was not asked for in full.
DERIVED = ("%RETRY%", "%DLQ%", "rmq_sys_", "SCHEDULE_TOPIC_", "RMQ_SYS_")


def near(topic: str, facts: FleetFacts) -> tuple[str, ...]:
    """The nearest names among the topics of all name servers."""
    names = frozenset().union(*(one.topics or () for one in facts.readable))
    return nearest(topic, [name for name in names if topic.startswith(DERIVED) or not name.startswith(DERIVED)])


def _listing(facts: FleetFacts, names: tuple[str, ...], likely: str) -> Iterator[str]:
    """Where the likely name is listed, and other names like the missing one."""
    for one in facts.readable:
        if likely in (one.topics or ()):
            yield _("%(addr)s lists the topic %(name)s (request 206)") % {"addr": one.addr, "name": likely}
        elif one.topics is None:
            yield _("%(addr)s does not list its topics (request 206), so names like it are not known; "
                    "enableAllTopicList=false, or access control, may be why") % {"addr": one.addr}  # fmt: skip
    if others := [name for name in names if name != likely]:
        yield _("other names like it: %(names)s") % {"names": listed(others)}


def _misspelt(topic: str, name: str) -> str:
    if name.casefold() == topic.casefold():
        return _("There is no topic %(topic)s, but %(name)s: only the case of letters differs.")
    if "%" in name and name.rpartition("%")[2] == topic:
        return _("There is no topic %(topic)s, but %(name)s: the client names it without its namespace.")
    return _("There is no topic %(topic)s, but %(name)s: the name looks misspelt.")


def _is_series(topic: str, name: str) -> bool:
    """Whether only numbers differ, or a single capital at the end: ``shard-1`` and ``shard-2``, rather both meant."""
    if topic.casefold() == name.casefold():
        return False
    if _NUMBERS.sub("", topic) == _NUMBERS.sub("", name):
        return True
    return topic[:-1] == name[:-1] and not topic[:-1].isupper() and topic[-1].isupper() and name[-1].isupper()


def _creation(facts: FleetFacts, others: set[str]) -> Iterator[str]:
    """Which brokers create no topics."""
    yield _("the route of TBW102 lacks %(brokers)s: a broker has that topic while it creates others by itself") % {
        "brokers": listed(others)
    }
    for broker in facts.brokers:
        value = broker.setting("autoCreateTopicEnable")
        if value is not None:
            yield _("%(broker)s at %(addr)s has autoCreateTopicEnable=%(value)s (request 26)") % {
                "broker": broker.name, "addr": broker.addr, "value": value}  # fmt: skip
