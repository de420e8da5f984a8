"""Asks one broker all that is needed of it, over one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rocketns.doctor.asking.addresses import UnreachedError
from rocketns.doctor.asking.brokers import bodies
from rocketns.doctor.asking.brokers.answers import Answers
from rocketns.doctor.asking.brokers.choosing import Candidate
from rocketns.doctor.asking.brokers.groups import ask_groups, look_again
from rocketns.doctor.asking.brokers.requests import BROKER_WITHIN_S, BYTES_MAX, TABLES_AT_ONCE, BrokerRequest
from rocketns.doctor.asking.call import Line, Timed
from rocketns.doctor.asking.requests import RETRY_PREFIX, Budget
from rocketns.doctor.asking.speaking import Question, reach
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import AddressFacts
from rocketns.protocol.codes import MASTER_ID, ResponseCode

_RUNTIME = BrokerRequest.GET_BROKER_RUNTIME_INFO
FIRST = Question(_RUNTIME, {}, BYTES_MAX[_RUNTIME])


@dataclass(frozen=True, slots=True)
class Wanted:
    """``lacking``: the topics that some name server lacks. ``many``: name servers list so many topics that all of them
    would be a large registration. ``tables_at_once``: see `Answers`."""

    options: Options
    lacking: frozenset[str] = frozenset()
    many: bool = False
    tables_at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TABLES_AT_ONCE))


async def ask_broker(
    candidate: Candidate, wanted: Wanted, line: Line, budget: Budget
) -> tuple[AddressFacts, BrokerFacts | None]:
    """How its address behaves, and what it says. None: nothing. Never raises for what it does."""
    reached = await reach(candidate.addr, FIRST, line, budget)
    if reached.call is None or reached.first is None:
        return reached.facts, None
    answers = Answers(reached.call, wanted.tables_at_once)
    try:
        with suppress(UnreachedError, TimeoutError):
            async with asyncio.timeout(BROKER_WITHIN_S):
                await _ask_all(candidate, wanted, answers, reached.first)
    finally:
        reached.call.close()
    return reached.facts, _facts(candidate, answers.found)


async def _ask_all(candidate: Candidate, wanted: Wanted, answers: Answers, first: Timed) -> None:
    """What is likelier to be large, or refused, comes later. UnreachedError: it answers no more."""
    _keep_runtime(answers, first)
    timed = await answers.ask(BrokerRequest.GET_BROKER_CONFIG, {})
    answers.keep("configuration", None if timed is None else timed.answer.body, bodies.configuration)
    for topic in (*wanted.options.topics, *(RETRY_PREFIX + group for group in wanted.options.groups)):
        await _ask_topic(topic, wanted, answers)
    await ask_groups(answers, wanted.options)
    await look_again(answers, wanted.options)
    if not candidate.by_all or (wanted.many and _registers_whole(answers.found.get("configuration"))):
        await answers.topics()


def _registers_whole(configuration: Mapping[str, str] | None) -> bool:
    """Whether it may send all topics in one frame that is not compressed."""
    on = ("compressedRegister", "enableSplitRegistration")
    return not any((configuration or {}).get(name) == "true" for name in on)


def _keep_runtime(answers: Answers, first: Timed) -> None:
    answers.found["version"] = first.answer.version
    if answers.succeeded(_RUNTIME, first):
        answers.keep("runtime", first.answer.body, bodies.runtime)
        answers.found["clock"] = bodies.clock(answers.found.get("runtime") or {}, first.asked_s, first.came_s)


async def _ask_topic(topic: str, wanted: Wanted, answers: Answers) -> None:
    timed = await answers.ask(BrokerRequest.GET_TOPIC_CONFIG, {"topic": topic}, {ResponseCode.TOPIC_NOT_EXIST})
    if timed is not None:
        if timed.answer.code == ResponseCode.TOPIC_NOT_EXIST:
            answers.found["topics"][topic] = None
        else:
            answers.keep_in("topics", topic, timed.answer.body, bodies.configured)
    elif topic in wanted.lacking and _does_not_know(answers, BrokerRequest.GET_TOPIC_CONFIG):
        table = await answers.topics()
        if table is not None:
            answers.found["topics"][topic] = bodies.entry(table, topic)


def _does_not_know(answers: Answers, code: BrokerRequest) -> bool:
    """A broker before 5.0 has no requests 351 and 352."""
    return bool(answers.found["codes"].get(int(code)) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


def _facts(candidate: Candidate, found: dict[str, Any]) -> BrokerFacts:
    if candidate.shown_by:
        return BrokerFacts(candidate.name, candidate.broker_id, candidate.cluster, candidate.addr, **found)
    settings = found.get("configuration") or {}
    number = settings.get("brokerId", "")
    own_id = int(number) if number.isascii() and number.isdecimal() else MASTER_ID
    return BrokerFacts(
        settings.get("brokerName", ""), own_id, settings.get("brokerClusterName", ""), candidate.addr,
        is_announced=False, **found,
    )  # fmt: skip
