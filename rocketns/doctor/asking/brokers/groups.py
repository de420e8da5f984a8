"""Asks one broker for the consumer groups that the user named."""

from __future__ import annotations

from asyncio import sleep

from rocketns.doctor.asking.brokers import bodies
from rocketns.doctor.asking.brokers.answers import Answers, decoded
from rocketns.doctor.asking.brokers.requests import (
    CONSUMER_NOT_ONLINE,
    LOOK_AGAIN_AFTER_S,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    BrokerRequest,
)
from rocketns.doctor.facts.brokers import Consumption, Offsets
from rocketns.doctor.facts.options import Options

_SYSTEM_GROUPS = "CID_RMQ_SYS_"  # MixAll.CID_RMQ_SYS_PREFIX: a broker creates them whatever its configuration says
BROADCASTING = "BROADCASTING"


async def ask_groups(answers: Answers, options: Options) -> None:
    """UnreachedError: the broker answers no more."""
    for group in options.groups:
        await _consumers(answers, group)
        if (looked := await _look(answers, group, options.topics)) is not None:
            answers.found["consumption"][group] = Consumption(*looked)
        await _configuration(answers, group)


async def look_again(answers: Answers, options: Options) -> None:
    """A second look at the offsets of those groups that could have consumed something since the first one."""
    waiting = [group for group in options.groups if _may_move(answers, group)]
    if not waiting:
        return
    await sleep(LOOK_AGAIN_AFTER_S)
    for group in waiting:
        if (looked := await _look(answers, group, options.topics)) is not None:
            first: Consumption = answers.found["consumption"][group]
            answers.found["consumption"][group] = Consumption(first.first, first.fetched_per_second, looked[0])


def _may_move(answers: Answers, group: str) -> bool:
    consumers, consumption = answers.found["consumers"].get(group), answers.found["consumption"].get(group)
    return bool(consumers and consumers.model != BROADCASTING and consumption and consumption.lag)


async def _consumers(answers: Answers, group: str) -> None:
    request = BrokerRequest.GET_CONSUMER_CONNECTION_LIST
    timed = await answers.ask(request, {"consumerGroup": group}, {CONSUMER_NOT_ONLINE})
    if timed is not None and timed.answer.code == CONSUMER_NOT_ONLINE:
        answers.found["consumers"][group] = None
    elif timed is not None:
        answers.keep_in("consumers", group, timed.answer.body, bodies.consumers)


async def _look(answers: Answers, group: str, topics: tuple[str, ...]) -> tuple[tuple[Offsets, ...], float] | None:
    """The offsets of the group: of these topics, or of all that it has offsets of."""
    queues: tuple[Offsets, ...] = ()
    per_second = 0.0
    for topic in topics or (None,):
        fields: dict[str, str | None] = {"consumerGroup": group, "topic": topic}
        timed = await answers.ask(BrokerRequest.GET_CONSUME_STATS, fields)
        of_topic = None if timed is None else decoded(timed.answer.body, bodies.offsets)
        if of_topic is None:
            return None
        queues += of_topic[0]
        per_second += of_topic[1]
    return queues, per_second


async def _configuration(answers: Answers, group: str) -> None:
    """352 creates the group where groups are created automatically. It is asked only where the broker says it is not
    so; otherwise the whole table is."""
    settings = answers.found.get("configuration") or {}
    if settings.get("autoCreateSubscriptionGroup") != "false" or group.startswith(_SYSTEM_GROUPS):
        await _of_table(answers, group)
        return
    request = BrokerRequest.GET_SUBSCRIPTIONGROUP_CONFIG
    timed = await answers.ask(request, {"group": group}, {SUBSCRIPTION_GROUP_NOT_EXIST})
    if timed is None:  # a broker before 5.0 does not know the request
        await _of_table(answers, group)
    elif timed.answer.code == SUBSCRIPTION_GROUP_NOT_EXIST:
        answers.found["groups"][group] = None
    else:
        answers.keep_in("groups", group, timed.answer.body, bodies.configured)


async def _of_table(answers: Answers, group: str) -> None:
    table = await answers.groups()
    if table is None:
        return
    answers.keep_in("groups", group, table, lambda body: bodies.entry(body, group))
    if group not in answers.found["groups"]:
        answers.found["groups"][group] = None
        answers.found["similar"][group] = bodies.similar_groups(table, group)
