"""Order configurations that clients cannot read."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import mqadmin
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.body.route import order_conf_mistake

NAME = "order-configuration"


def order(facts: Facts) -> Iterator[Finding]:
    """A finding for each topic with such a configuration, where some name server has it."""
    wrong: dict[str, list[tuple[NameServerFacts, str]]] = {}
    for one in facts.readable:
        for topic, text in one.order.items():
            if mistake := order_conf_mistake(text):
                wrong.setdefault(topic, []).append((one, mistake))
    for topic, found in sorted(wrong.items()):
        sentence = _("The order configuration of the topic %(topic)s is malformed: clients fail when they read it in "
                     "the topic's route.") % {"topic": topic}  # fmt: skip
        evidence = tuple(
            _("%(addr)s has the part %(part)s in it (request 219, namespace ORDER_TOPIC_CONFIG), orderMessageEnable is "
              "%(enabled)s") % {"addr": one.addr, "part": mistake, "enabled": _enabled(one)}
            for one, mistake in found
        )  # fmt: skip
        commands = (
            _("# a valid one is broker-a:8;broker-b:8, each broker with the number of its queues"),
            mqadmin(facts, "updateOrderConf", "-t", topic, "-m", "delete"),
        )
        yield Finding(NAME, State.ILL, sentence, evidence, commands, _weight(facts, topic, [one for one, _ in found]))


def _enabled(one: NameServerFacts) -> str:
    return (one.configuration or {}).get("orderMessageEnable", "?")


def _weight(facts: Facts, topic: str, having: list[NameServerFacts]) -> Weight:
    if all(_enabled(one) == "false" for one in having):
        return Weight.NOTE  # until somebody switches it on
    if facts.options.topics and topic not in facts.options.topics:
        return Weight.ELSEWHERE
    return Weight.EXPLAINS if len(having) == len(facts.readable) and facts.options.topics else Weight.PARTLY
