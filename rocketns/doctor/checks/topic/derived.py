"""Topics that nobody creates by hand: brokers make them, or there is none of that name."""

from __future__ import annotations

from dataclasses import replace

from rocketns.doctor.asking.requests import RETRY_PREFIX
from rocketns.doctor.checks.showing import again
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.words import N_, _
from rocketns.protocol.names import is_valid

RETRY = N_("# a broker creates it when the first consumer of the group connects; ask for the group:")
TEXTS = {
    "%DLQ%": N_("# a broker creates it with the first message that a consumer failed to process too often; without "
                "such a message nothing is wrong"),
    "%LMQ%": N_("# a light message queue has no route: clients look up the topic that it belongs to"),
    "SCHEDULE_TOPIC_": N_("# a broker makes this topic for itself; no client uses it"),
    "rmq_sys_": N_("# a broker makes this topic for itself; no client uses it"),
}  # fmt: skip


def instead(facts: Facts, topic: str) -> tuple[str, ...] | None:
    """What to do instead of creating the topic. None: it is one to create."""
    if not is_valid(topic):
        return ()
    if topic.startswith(RETRY_PREFIX):
        group = topic.removeprefix(RETRY_PREFIX)
        asked = replace(facts.options, topics=(), groups=(group,))
        return (_(RETRY), again(replace(facts, options=asked))) if group else ()
    text = next((text for beginning, text in TEXTS.items() if topic.startswith(beginning)), None)
    return None if text is None else (_(text),)
