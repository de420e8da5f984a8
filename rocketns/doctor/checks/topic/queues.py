"""Topics that automatic creation put on few brokers."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import listed, mqadmin
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.names import CREATION_TOPIC

NAME = "few-queues"
# A producer asks for so many, and a broker gives no more: DefaultMQProducer.defaultTopicQueueNums.
CREATED_QUEUES_MAX = 4


def few(facts: Facts) -> Iterator[Finding]:
    """A finding for each topic that looks created automatically, and that only some brokers of its cluster have."""
    creators, groups = set(facts.queues(CREATION_TOPIC)), facts.groups
    masters = set(facts.masters())
    for topic in facts.options.topics:
        queues = facts.queues(topic)
        clusters = {groups[name].cluster or "" for name in queues if name in groups}
        peers = {name for cluster in clusters for name in facts.clusters.get(cluster, ())} & masters
        looks_created = all(
            one.read_queue_nums == one.write_queue_nums <= CREATED_QUEUES_MAX for one in queues.values()
        )
        if queues and looks_created and creators & queues.keys() and peers - queues.keys():
            yield _finding(facts, topic, set(queues), peers - queues.keys(), clusters)


def _finding(facts: Facts, topic: str, having: set[str], lacking: set[str], clusters: set[str]) -> Finding:
    sentence = _("The topic %(topic)s is on %(having)s only, and not on %(lacking)s: it was created by the first "
                 "message to it, so all its load is there.") % {
        "topic": topic, "having": listed(having), "lacking": listed(lacking)}  # fmt: skip
    evidence = tuple(
        _("%(broker)s has %(n)d queues of %(topic)s, and creates topics by itself") % {
            "broker": name, "n": one.write_queue_nums, "topic": topic}
        for name, one in sorted(facts.queues(topic).items())
    )  # fmt: skip
    commands = tuple(mqadmin(facts, "updateTopic", "-c", cluster, "-t", topic) for cluster in sorted(clusters))
    return Finding(NAME, State.ILL, sentence, evidence, commands, Weight.NOTE)
