"""Asks the brokers that were chosen all that is needed of them, each over one connection."""

from __future__ import annotations

import asyncio
from asyncio import Semaphore, sleep
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any, TypeVar

from rocketns.client.resolving import RESOLVE_WITHIN_S
from rocketns.client.signer import Fields
from rocketns.doctor.asking import bodies
from rocketns.doctor.asking.connecting import Call, Line, Timed, TooLargeError, UnreachedError, reach, resolve
from rocketns.doctor.asking.requests import (
    AT_ONCE,
    BROKER_WITHIN_S,
    BROKERS_MAX,
    BYTES_MAX,
    CONSUMER_NOT_ONLINE,
    LOOK_AGAIN_AFTER_S,
    RETRY_PREFIX,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    TABLES_AT_ONCE,
    BrokerRequest,
    Budget,
    broker_budget,
)
from rocketns.doctor.facts import (
    AddressFacts,
    BrokerFacts,
    Consumption,
    Facts,
    NameServerFacts,
    Offsets,
    Options,
    own_list,
)
from rocketns.doctor.progress import Progress
from rocketns.doctor.words import _
from rocketns.errors import BodyDecodeError
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import MASTER_ID, ResponseCode
from rocketns.protocol.names import utf8_bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broker as name servers show it; of one that was only given, nothing but its address is known.

    ``shown_by`` are the name servers that show it, ``by_all`` whether all that can be read do.
    """

    addr: str
    name: str = ""
    broker_id: int = 0
    cluster: str = ""
    shown_by: frozenset[str] = frozenset()
    by_all: bool = False


def choose(options: Options, name_servers: Sequence[NameServerFacts]) -> tuple[list[Candidate], int]:
    """At most BROKERS_MAX, and those that the user named; how many could have been asked, too."""
    shown = _shown(name_servers)
    given = [shown.get(addr, Candidate(addr)) for addr in options.brokers]
    wanted = _of_topics(options.topics, name_servers)
    fitting = [
        one for one in shown.values() if (wanted is None or one.name in wanted) and one.addr not in options.brokers
    ]
    chosen = list(_in_turns(fitting))[:BROKERS_MAX]
    return [*given, *chosen], len(fitting) - len(chosen)


def _shown(name_servers: Sequence[NameServerFacts]) -> dict[str, Candidate]:
    """All brokers by address, as the first name server that has it shows it."""
    readable = [one for one in name_servers if one.groups is not None]
    shown_by: dict[str, set[str]] = {}
    identities: dict[str, tuple[str, int, str]] = {}
    for name_server in readable:
        for name, group in (name_server.groups or {}).items():
            for broker_id, addr in group.addrs:
                identities.setdefault(addr, (name, broker_id, group.cluster or ""))
                shown_by.setdefault(addr, set()).add(name_server.addr)
    return {
        addr: Candidate(addr, *identity, frozenset(shown_by[addr]), len(shown_by[addr]) == len(readable))
        for addr, identity in identities.items()
    }


def _of_topics(topics: Iterable[str], name_servers: Sequence[NameServerFacts]) -> set[str] | None:
    """The names of the brokers of the topics. None: any broker may be a reason."""
    found: set[str] = set()
    for topic in topics:
        names = {name for one in name_servers for name in one.queues(topic)}
        if not names:
            return None
        found |= names
    return found or None


def _in_turns(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """One of each cluster after the other, masters before slaves."""
    clusters: dict[str, list[Candidate]] = {}
    for one in sorted(candidates, key=lambda one: (one.broker_id != 0, one.name, one.broker_id)):
        clusters.setdefault(one.cluster, []).append(one)
    turns = zip_longest(*(clusters[name] for name in sorted(clusters)))
    return (one for one in chain.from_iterable(turns) if one is not None)


Value = TypeVar("Value")
# A broker of 5.x gives so many of its topics, and the number of all (enableSplitMetadata). An older one gives all.
SOME_TOPICS: Fields = {"topicSeq": "0", "maxTopicNum": "1000"}
DIGITS_MAX = 9  # of a number of topics
TABLES = ("topics", "groups", "similar", "consumers", "consumption", "codes")


class Answers:
    """``found`` are fields of BrokerFacts. ``tables_at_once``: how many brokers may send whole tables.

    What cannot be decoded is left out, as if it was not answered.
    """

    def __init__(self, call: Call, tables_at_once: Semaphore) -> None:
        self._call, self._tables_at_once = call, tables_at_once
        self._tables: dict[BrokerRequest, bytes | None] = {}
        self.found: dict[str, Any] = {name: {} for name in TABLES}

    async def ask(self, code: BrokerRequest, fields: Fields, also: Container[int] = ()) -> Timed | None:
        """The answer, if its code is success or one of ``also``. UnreachedError: the broker answers no more."""
        timed = await self._call.ask(code, fields, BYTES_MAX[code])
        return timed if timed.answer.code in also or self.succeeded(code, timed) else None

    def succeeded(self, code: BrokerRequest, timed: Timed) -> bool:
        """Whether this answer is a success. Otherwise its code is kept."""
        if timed.answer.code != ResponseCode.SUCCESS:
            self.found["codes"][int(code)] = timed.answer.code
        return timed.answer.code == ResponseCode.SUCCESS

    async def groups(self) -> bytes | None:
        """All groups, asked for once. None: it does not say."""
        code = BrokerRequest.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        if code not in self._tables:
            self._tables[code] = None  # also where the call ends
            async with self._tables_at_once:
                self._tables[code] = _body(await self.ask(code, {}))
        return self._tables[code]

    async def topics(self) -> bytes | None:
        """All topics of a broker before 5.0, and some of a newer one, asked for once. Their size is measured.

        None: it does not say.
        """
        code = BrokerRequest.GET_ALL_TOPIC_CONFIG
        if code not in self._tables:
            self._tables[code] = None
            try:
                async with self._tables_at_once:
                    timed = await self.ask(code, SOME_TOPICS)
            except TooLargeError as error:
                self.found["topics_bytes"] = error.size
                raise
            self._tables[code] = body = _body(timed)
            if timed is not None and body is not None:
                self.found |= _measured(body, timed.answer.ext("totalTopicNum"))
        return self._tables[code]

    def keep(self, name: str, body: bytes | None, decode: Callable[[bytes], object], key: str = "") -> None:
        """A field; with ``key`` an entry of a field that is a mapping."""
        value = decoded(body, decode)
        if value is not None:
            (self.found[name] if key else self.found)[key or name] = value


def _body(timed: Timed | None) -> bytes | None:
    return None if timed is None else timed.answer.body


def _measured(body: bytes, total: str | None) -> dict[str, int]:
    """The number of topics, and the bytes of all; of some of them by their mean."""
    here = body.count(b'"topicName":')
    if not here or total is None or not (total.isascii() and total.isdecimal() and len(total) <= DIGITS_MAX):
        return {"topics_bytes": len(body), "topics_count": here}
    count = max(int(total), here)
    return {"topics_bytes": len(body) * count // here, "topics_count": count}


def decoded(body: bytes | None, decode: Callable[[bytes], Value]) -> Value | None:
    """None where the body is not what was asked for."""
    try:
        return None if body is None else decode(body)
    except BodyDecodeError:
        return None


_SYSTEM_GROUPS = "CID_RMQ_SYS_"  # MixAll.CID_RMQ_SYS_PREFIX: a broker creates them whatever its configuration says
BROADCASTING = "BROADCASTING"


async def ask_groups(answers: Answers, options: Options) -> None:
    """UnreachedError: the broker answers no more."""
    for group in options.groups:
        await _consumers(answers, group)
        if (looked := await _look(answers, group, options.topics)) is not None:
            answers.found["consumption"][group] = Consumption(*looked)
        await _configuration(answers, group)


async def look_again_at_offsets(answers: Answers, options: Options) -> None:
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
        answers.keep("consumers", timed.answer.body, bodies.consumers, group)


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
        answers.keep("groups", timed.answer.body, bodies.configured, group)


async def _of_table(answers: Answers, group: str) -> None:
    table = await answers.groups()
    if table is None:
        return
    answers.keep("groups", table, lambda body: bodies.entry(body, group), group)
    if group not in answers.found["groups"]:
        answers.found["groups"][group] = None
        answers.found["similar"][group] = bodies.similar_groups(table, group)


_RUNTIME = BrokerRequest.GET_BROKER_RUNTIME_INFO


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
    reached = await reach(candidate.addr, _RUNTIME, BYTES_MAX[_RUNTIME], line, budget)
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
    own = own_list(answers.found.get("configuration") or {})[:NAME_SERVERS_MAX]
    answers.found["name_servers"] = dict(zip(own, await asyncio.gather(*map(_ips, own)), strict=True))
    for topic in (*wanted.options.topics, *(RETRY_PREFIX + group for group in wanted.options.groups)):
        await _ask_topic(topic, wanted, answers)
    await ask_groups(answers, wanted.options)
    await look_again_at_offsets(answers, wanted.options)
    if not candidate.by_all or (wanted.many and _registers_whole(answers.found.get("configuration"))):
        await answers.topics()


async def _ips(name_server: str) -> tuple[str, ...]:
    """None where its host is not known here."""
    try:
        return (await resolve(name_server, RESOLVE_WITHIN_S)).ips
    except UnreachedError:
        return ()


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
            answers.keep("topics", timed.answer.body, bodies.configured, topic)
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


NAME_SERVERS_MAX = 16  # of a broker's list that are resolved
# Of one topic as JSON, with its key, without its name, which is there twice:
# "":{"attributes":{},"order":false,"perm":6,"readQueueNums":1024,"topicFilterType":"SINGLE_TAG","topicName":"", …},
ENTRY_BYTES = 160
LARGE_BYTES = FRAME_SIZE_MAX_BYTES // 2


async def ask_brokers(
    options: Options, name_servers: Sequence[NameServerFacts], line: Line, progress: Progress
) -> Facts:  # fmt: skip
    """The facts, with what brokers say; AT_ONCE are asked at a time."""
    (chosen, left_out), budget = choose(options, name_servers), broker_budget(options)
    wanted = _wanted(options, name_servers)
    room = asyncio.Semaphore(AT_ONCE)

    async def ask(candidate: Candidate) -> tuple[AddressFacts, BrokerFacts | None]:
        async with room:
            return await ask_broker(candidate, wanted, line, budget)

    progress.stage(_("asking brokers"), len(chosen))
    found = await asyncio.gather(*(progress.counted(ask(one)) for one in chosen))
    return Facts(
        options, tuple(name_servers), {address.addr: address for address, _broker in found},
        tuple(broker for _address, broker in found if broker is not None), left_out, (budget.requests("brokers"),),
    )  # fmt: skip


def _wanted(options: Options, name_servers: Sequence[NameServerFacts]) -> Wanted:
    lacking = {topic for topic in options.topics if any(one.lacks(topic) for one in name_servers)}
    return Wanted(options, frozenset(lacking), many=any(may_be_large(one.topics or ()) for one in name_servers))


def may_be_large(topics: Iterable[str]) -> bool:
    """Whether a broker that had all of these topics would send half as much as a frame may have, or more."""
    size = 0
    for topic in topics:
        size += ENTRY_BYTES + 2 * utf8_bytes(topic)
        if size >= LARGE_BYTES:
            return True
    return False
