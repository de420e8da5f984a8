"""Asks the brokers that were chosen all that is needed of them, each over one connection."""

from __future__ import annotations

import asyncio
from asyncio import Semaphore, sleep
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any, TypeVar

from rocketns.client.name_server import Fields
from rocketns.client.resolving import RESOLVE_WITHIN_S
from rocketns.doctor.asking import bodies
from rocketns.doctor.asking.connecting import Call, Line, TooLargeError, UnreachedError, reach, resolve
from rocketns.doctor.asking.requests import LOOK_AGAIN_AFTER_S, BrokerRequest, broker_budget
from rocketns.doctor.facts import (
    BROADCASTING,
    AddressFacts,
    BrokerFacts,
    Consumption,
    FleetFacts,
    Offsets,
    number,
)
from rocketns.doctor.words import _
from rocketns.errors import BodyDecodeError
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import MASTER_ID, ResponseCode
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.names import utf8_bytes

BROKERS_MAX = 32
AT_ONCE = 8
TABLES_AT_ONCE = 2  # answers of up to 16 MiB
BROKER_WITHIN_S = 30.0  # for all questions to one broker
# Bytes of an answer that are read. A larger one ends the connection.
ANSWER_BYTES_MAX = 4 << 20
BYTES_MAX = {
    BrokerRequest.GET_ALL_TOPIC_CONFIG: FRAME_SIZE_MAX_BYTES,
    BrokerRequest.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: FRAME_SIZE_MAX_BYTES,
}

# Response codes
SUBSCRIPTION_GROUP_NOT_EXIST = 26
CONSUMER_NOT_ONLINE = 206


def choose(facts: FleetFacts) -> tuple[list[BrokerFacts], int]:
    """At most BROKERS_MAX, and those that the user named; how many could have been asked, too."""
    asked = facts.options
    shown: dict[str, BrokerFacts] = {}  # by address, as the first name server that has it shows it
    for name_server in facts.readable:
        for name, group in (name_server.groups or {}).items():
            for broker_id, addr in group.addrs:
                shown.setdefault(addr, BrokerFacts(name, broker_id, group.cluster or "", addr))
    given = [shown.get(addr, BrokerFacts("", MASTER_ID, "", addr, is_announced=False)) for addr in asked.brokers]
    by_topic = [facts.queues(topic).keys() for topic in asked.topics]
    # Where a topic has no route any broker may be a reason.
    wanted = set[str]().union(*by_topic) if by_topic and all(by_topic) else facts.groups.keys()
    fitting = [one for one in shown.values() if one.name in wanted and one.addr not in asked.brokers]
    chosen = list(_in_turns(fitting))[:BROKERS_MAX]
    return [*given, *chosen], len(fitting) - len(chosen)


def _in_turns(candidates: Iterable[BrokerFacts]) -> Iterator[BrokerFacts]:
    """One of each cluster after the other, masters before slaves."""
    clusters: dict[str, list[BrokerFacts]] = {}
    for one in sorted(candidates, key=lambda one: (one.broker_id != 0, one.name, one.broker_id)):
        clusters.setdefault(one.cluster, []).append(one)
    turns = zip_longest(*(clusters[name] for name in sorted(clusters)))
    return (one for one in chain.from_iterable(turns) if one is not None)


Value = TypeVar("Value")
# A broker of 5.x gives so many of its topics, and the number of all (enableSplitMetadata). An older one gives all.
SOME_TOPICS: Fields = {"topicSeq": "0", "maxTopicNum": "1000"}
NAME_SERVERS_MAX = 16  # of a broker's list that are resolved
_SYSTEM_GROUPS = "CID_RMQ_SYS_"  # MixAll.CID_RMQ_SYS_PREFIX: a broker creates them whatever its configuration says


class Interview:
    """All that is asked of one broker, whose facts it fills in.

    What cannot be decoded is left out, as if it was not answered. UnreachedError, of each method: it answers no more.
    """

    def __init__(self, call: Call, broker: BrokerFacts, facts: FleetFacts, tables_at_once: Semaphore) -> None:
        """``facts`` are those of name servers. ``tables_at_once``: how many brokers may send whole tables."""
        self._call, self._broker, self._facts, self._tables_at_once = call, broker, facts, tables_at_once
        self._options = facts.options
        self._tables: dict[BrokerRequest, bytes | None] = {}

    async def ask_all(self) -> None:
        """What is likelier to be large, or refused, comes later."""
        call, broker = self._call, self._broker
        broker.version, broker.codes = call.first.version, call.codes
        answer = call.expected(BrokerRequest.GET_BROKER_RUNTIME_INFO, call.first)
        broker.clock = _decoded(answer, lambda body: bodies.clock(body, call.asked_s, call.came_s))
        answer = await self._ask(BrokerRequest.GET_BROKER_CONFIG, {})
        broker.configuration = _decoded(answer, bodies.configuration)
        own = broker.own_list[:NAME_SERVERS_MAX]
        broker.name_servers = dict(zip(own, await asyncio.gather(*map(_ips, own)), strict=True))
        for topic in self._options.topics:
            await self._topic(topic)
        for group in self._options.groups:
            await self._entry(broker.consumers, group, BrokerRequest.GET_CONSUMER_CONNECTION_LIST, "consumerGroup",
                              bodies.consumers, CONSUMER_NOT_ONLINE)  # fmt: skip
            if (looked := await self._offsets(group)) is not None:
                broker.consumption[group] = Consumption(looked)
            await self._group(group)
        await self._look_again_at_offsets()

    async def _topic(self, topic: str) -> None:
        code = BrokerRequest.GET_TOPIC_CONFIG
        topics = self._broker.topics
        has_answered = await self._entry(topics, topic, code, "topic", bodies.configured, ResponseCode.TOPIC_NOT_EXIST)
        # A broker before 5.0 has no requests 351 and 352.
        is_old = self._call.codes.get(code) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        is_lacking = any(one.lacks(topic) for one in self._facts.name_servers)
        if not has_answered and is_lacking and is_old and (table := await self.topics()) is not None:
            with suppress(BodyDecodeError):
                topics[topic] = bodies.entry(table, topic)

    async def _group(self, group: str) -> None:
        """352 creates the group where groups are created automatically. It is asked only where the broker says it is
        not so; otherwise the whole table is."""
        broker = self._broker
        closed = broker.is_on("autoCreateSubscriptionGroup") is False and not group.startswith(_SYSTEM_GROUPS)
        if closed and await self._entry(broker.groups, group, BrokerRequest.GET_SUBSCRIPTIONGROUP_CONFIG, "group",
                                        bodies.configured, SUBSCRIPTION_GROUP_NOT_EXIST):  # fmt: skip
            return
        answer = await self._table(BrokerRequest.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {})
        if answer is not None:
            with suppress(BodyDecodeError):
                broker.groups[group] = found = bodies.entry(answer, group)
                if found is None:
                    broker.similar[group] = bodies.similar_groups(answer, group)

    async def _offsets(self, group: str) -> Offsets | None:
        """The offsets of the group: of the topics that were asked for, or of all that it has offsets of."""
        queues: dict[tuple[str, int], tuple[int, int]] = {}
        for topic in self._options.topics or (None,):
            answer = await self._ask(BrokerRequest.GET_CONSUME_STATS, {"consumerGroup": group, "topic": topic})
            if (of_topic := _decoded(answer, bodies.offsets)) is None:
                return None
            queues |= of_topic
        return queues

    async def _look_again_at_offsets(self) -> None:
        """A second look at the offsets of those groups that could have consumed something since the first one."""
        consumers, consumption = self._broker.consumers, self._broker.consumption
        waiting = [group for group, one in consumption.items()
                   if one.lag and (found := consumers.get(group)) and found.model != BROADCASTING]  # fmt: skip
        if waiting:
            await sleep(LOOK_AGAIN_AFTER_S)
        for group in waiting:
            if (looked := await self._offsets(group)) is not None:
                consumption[group] = replace(consumption[group], later=looked)

    async def topics(self) -> bytes | None:
        """All topics of a broker before 5.0, and some of a newer one, whose size is measured. None: it does not say."""
        try:
            return await self._table(BrokerRequest.GET_ALL_TOPIC_CONFIG, SOME_TOPICS)
        except TooLargeError as error:
            self._broker.topics_bytes = error.size
            raise

    async def _table(self, code: BrokerRequest, fields: Fields) -> bytes | None:
        """All topics or groups, asked for once. None: it does not say."""
        if code not in self._tables:
            self._tables[code] = None  # also where the call ends
            async with self._tables_at_once:
                answer = await self._ask(code, fields)
            if answer is not None and answer.body is not None:
                self._tables[code] = answer.body
                if code is BrokerRequest.GET_ALL_TOPIC_CONFIG:
                    self._measure_topics(answer.body, answer.ext("totalTopicNum"))
        return self._tables[code]

    def _measure_topics(self, body: bytes, total: str | None) -> None:
        """The number of topics, and the bytes of all; of some of them by their mean."""
        here = body.count(b'"topicName":')
        count = max(number(total, 0), here) if here else 0
        self._broker.topics_bytes = len(body) * count // here if here else len(body)
        self._broker.topics_count = count

    async def _entry(
        self, table: dict[str, Any], name: str, code: BrokerRequest, field: str, decode: Callable[[bytes], object],
        lacks: int,
    ) -> bool:  # fmt: skip
        """Ask for one entry of a table; None where the answer's code is ``lacks``. Whether the broker said either."""
        answer = await self._ask(code, {field: name}, lacks)
        if answer is None:
            return False
        value = None if answer.code == lacks else _decoded(answer, decode)
        if answer.code == lacks or value is not None:
            table[name] = value
        return True

    async def _ask(self, code: BrokerRequest, fields: Fields, also: int | None = None) -> RemotingCommand | None:
        return await self._call.ask_expecting(code, fields, BYTES_MAX.get(code, ANSWER_BYTES_MAX), also)


def _decoded(answer: RemotingCommand | None, decode: Callable[[bytes], Value]) -> Value | None:
    """None where there is no answer, or its body is not what was asked for."""
    try:
        return None if answer is None or answer.body is None else decode(answer.body)
    except BodyDecodeError:
        return None


async def _ips(name_server: str) -> tuple[str, ...]:
    """None where its host is not known here."""
    try:
        return await resolve(name_server, RESOLVE_WITHIN_S)
    except UnreachedError:
        return ()


# Of one topic as JSON, with its key, without its name, which is there twice:
# "":{"attributes":{},"order":false,"perm":6,"readQueueNums":1024,"topicFilterType":"SINGLE_TAG","topicName":"", …},
ENTRY_BYTES = 160
LARGE_BYTES = FRAME_SIZE_MAX_BYTES // 2  # of a broker with all topics: half as much as a frame may have


async def ask_brokers(facts: FleetFacts, line: Line, say: Callable[[str], None]) -> FleetFacts:
    """The facts, with what brokers say; AT_ONCE are asked at a time. Never raises for what they do."""
    say(_("asking brokers"))
    chosen, left_out = choose(facts)
    line = replace(line, budget=broker_budget(facts.options))
    room, tables_at_once = Semaphore(AT_ONCE), Semaphore(TABLES_AT_ONCE)
    # All topics that a name server lists would be a large registration.
    sizes = (sum(ENTRY_BYTES + 2 * utf8_bytes(topic) for topic in one.topics or ()) for one in facts.name_servers)
    is_large = any(size >= LARGE_BYTES for size in sizes)

    async def ask(broker: BrokerFacts) -> tuple[AddressFacts, BrokerFacts | None]:
        """How its address behaves, and what it says. None: nothing."""
        async with room:
            address, call = await reach(broker.addr, BrokerRequest.GET_BROKER_RUNTIME_INFO, ANSWER_BYTES_MAX, line)
            if call is None:
                return address, None
            asked = Interview(call, broker, facts, tables_at_once)
            try:
                with suppress(UnreachedError, TimeoutError):
                    async with asyncio.timeout(BROKER_WITHIN_S):
                        await asked.ask_all()
                        is_shown = bool(facts.readable) and all(broker.addr in one.addrs for one in facts.readable)
                        if not is_shown or (is_large and not broker.sends_less):
                            await asked.topics()
            finally:
                call.close()
            if not broker.is_announced:  # who it is it says itself
                name, cluster = broker.setting("brokerName"), broker.setting("brokerClusterName")
                broker.name, broker.cluster = name or "", cluster or ""
                broker.broker_id = number(broker.setting("brokerId"), MASTER_ID)
            return address, broker

    found = await asyncio.gather(*map(ask, chosen))
    return replace(
        facts, addresses={address.addr: address for address, _broker in found},
        brokers=tuple(broker for _address, broker in found if broker is not None),
        left_out=left_out, requests=line.budget.requests,
    )  # fmt: skip
