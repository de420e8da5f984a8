"""Random scenarios: a seed gives the steps, each independent, so that any part of them can be played alone.

Several clusters, groups, ids, addresses and topics; every registered address has a connection of its own, because Java
leaves open which broker of a shared one goes when it closes. Left out is what docs/differences.md lists.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from interop.harness.payloads import data_version, dumps, register_body
from interop.parity.language import (
    EVERY_FORM,
    ONE_FORM,
    Ask,
    Compare,
    Expired,
    Form,
    HangUp,
    Request,
    Scenario,
    Settle,
    Step,
)
from interop.parity.requests import (
    add,
    address,
    ask,
    broker,
    cluster_info,
    configs,
    configure,
    delete,
    delete_topic,
    get,
    heartbeat,
    kv_list,
    members,
    own,
    put,
    query_version,
    queue,
    register,
    register_topic,
    route,
    topic,
    topics_of,
    unregister,
    wipe,
)

STEPS = 200
# Sequences of requests that no real peer writes.
ODD = "odd-"
SEEDS = (*map(str, range(9)), *(f"{ODD}{number}" for number in range(3)))
# How often everything is compared between.
COMPARE_EVERY = 50

CLUSTERS = ("C", "D", "E")
GROUPS = {"a": "C", "b": "C", "c": "D", "d": "E"}
HOSTS = 2
IDS = (0, 0, 0, 1, 1, 2, 3)
TOPICS = (*"TUVWXYZ", "rmq_sys_SYNC_BROKER_MEMBER_a")
# A topic's flag is the same wherever it is registered: Java judges 311-313 by one broker's, whichever comes first.
FLAGS = {name: number % 4 for number, name in enumerate(TOPICS)}
ACTING = (None, "false", "true", "true")
SWITCHES = ("supportActingMaster", "deleteTopicWithBrokerRegistration", "orderMessageEnable")

Steps = tuple[Step, ...]
Item = TypeVar("Item")


class Maker:
    """Makes one step of a sequence from its own random numbers."""

    def __init__(self, seed: str, number: int) -> None:
        self.random = random.Random(f"{seed}/{number}")
        self.form = self.random.choice(EVERY_FORM)

    def make(self) -> Steps:
        kinds, weights = zip(*KINDS, strict=True)
        kind: Callable[[Maker], Steps] = self.random.choices(kinds, weights)[0]
        return kind(self)

    def who(self) -> dict[str, Any]:
        """A broker: its name, address, connection and cluster. Java keeps entries of a group in two clusters."""
        name, cluster = self.random.choice(list(GROUPS.items()))
        host = list(GROUPS).index(name) * HOSTS + self.random.randrange(HOSTS)
        return {"name": name, "host": host, "cluster": cluster, "broker_id": self.random.choice(IDS)}

    def on(self, who: dict[str, Any]) -> str:
        return f"{who['cluster']}{who['host']}"

    def topics(self, count: int, names: Sequence[str] = TOPICS) -> list[dict[str, Any]]:
        names = self.random.sample(names, min(count, len(names)))
        perms = (2, 4, 6, 6, 7)
        return [topic(name, perm=self.random.choice(perms), flag=FLAGS[name], read=self.random.randrange(1, 4))
                for name in names]  # fmt: skip

    def version(self) -> dict[str, int]:
        return data_version(self.random.randrange(1, 4), state=self.random.choice((0, 0, 0, 1)))

    def registration(self, who: dict[str, Any], count: int, **more: Any) -> Step:
        acting = self.random.choice(ACTING)
        zone = self.random.choice((None, None, "z1", "z2"))
        # Of an address that lost its id Java keeps the filter servers, so each registration names its own. Older
        # versions cannot.
        form = self.form if self.form.version >= 37 else Form(self.form.binary, 37)
        deflated = self.random.random() < 0.1
        filters = self.random.choice(((), (), ("f:1",))) if not deflated else ("g:1",)
        # A deflated body does not carry flags.
        topics = self.topics(count, [name for name in TOPICS if not FLAGS[name]] if deflated else TOPICS)
        return register(topics, self.version(), **who, filters=filters, deflated=deflated, form=form,
                        on=self.on(who), enableActingMaster=acting, __ZONE_NAME=zone, **more)  # fmt: skip


def _register(maker: Maker) -> Steps:
    """A single topic comes after a whole table: refused, it would leave an empty group in Java."""
    who, count = maker.who(), maker.random.choice((0, 1, 2, 3, 4, 5, 6))
    whole = (maker.registration(who, 2),) if count == 1 else ()
    return (*whole, maker.registration(who, count))


def _unregister(maker: Maker) -> Steps:
    return unregister(**maker.who(), form=maker.form), Settle()


def _close(maker: Maker) -> Steps:
    return HangUp(on=maker.on(maker.who())), Settle()


def _expire(maker: Maker) -> Steps:
    """A registration that is overdue at once; without a topic it cannot be refused."""
    who = maker.who()
    overdue = maker.registration(who, 0, heartbeatTimeoutMillis="0")
    on = maker.on(who)
    return overdue, Expired(address(who["host"]), on=on), HangUp(on=on), Settle()


def _heartbeat(maker: Maker) -> Steps:
    return (heartbeat(**maker.who(), form=maker.form),)


def _query(maker: Maker) -> Steps:
    return (query_version(maker.version(), **maker.who()),)


def _delete_topic(maker: Maker) -> Steps:
    cluster = maker.random.choice((None, *CLUSTERS))
    return (delete_topic(maker.random.choice(TOPICS), cluster, form=maker.form),)


def _register_topic(maker: Maker) -> Steps:
    name = maker.random.choice(TOPICS)
    groups = maker.random.sample([*GROUPS, "nobody"], maker.random.randrange(1, 3))
    queues = (queue(group, topicSysFlag=FLAGS[name], perm=maker.random.choice((4, 6))) for group in groups)
    return (register_topic(name, *queues, form=maker.form),)


def _permission(maker: Maker) -> Steps:
    act = maker.random.choice((wipe, wipe, add))
    return (act(maker.random.choice(list(GROUPS)), form=maker.form),)


def _kv(maker: Maker) -> Steps:
    key, namespace = maker.random.choice("kl"), maker.random.choice("no")
    if maker.random.random() < 0.2:
        return (kv_list(namespace, form=maker.form),)
    act = maker.random.choice((put, put, delete, get))
    return (act(key, namespace=namespace, form=maker.form),)


def _order(maker: Maker) -> Steps:
    item = {"namespace": "ORDER_TOPIC_CONFIG", "key": own(maker.random.choice(TOPICS))}
    if maker.random.random() < 0.5:
        return (ask(100, item | {"value": "a:4"}, form=maker.form),)
    return (ask(102, item, form=maker.form),)


def _route(maker: Maker) -> Steps:
    zone = {"__ZONE_MODE": "true", "__ZONE_NAME": "z1"} if maker.random.random() < 0.3 else {}
    return (route(maker.random.choice(TOPICS), zone, form=maker.form),)


def _look(maker: Maker) -> Steps:
    who = maker.who()
    look = (
        cluster_info(form=maker.form),
        members(who["name"], who["cluster"]),
        topics_of(who["cluster"], form=maker.form),
        ask(maker.random.choice((206, 304, 311, 312, 313)), form=maker.form),
        ask(901, broker(who["name"])),
    )
    return (maker.random.choice(look),)


def _switch(maker: Maker) -> Steps:
    name, value = maker.random.choice(SWITCHES), maker.random.choice(("true", "false"))
    return (configure(f"{name}={value}", form=maker.form),)


KINDS: tuple[tuple[Callable[[Maker], Steps], int], ...] = (
    (_register, 34),
    (_unregister, 9),
    (_close, 6),
    (_expire, 2),
    (_heartbeat, 3),
    (_query, 5),
    (_delete_topic, 6),
    (_register_topic, 6),
    (_permission, 6),
    (_kv, 5),
    (_order, 3),
    (_route, 9),
    (_look, 4),
    (_switch, 2),
)


ODD_VERSIONS = (0, 36, 37, 400, 401, 412, 413, 475, 513, 600)
CODES = (
    *(100, 101, 102, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 319, 322, 327, 901, 904, 905, 0, 9999),
)
REGISTER, UNREGISTER, QUERY, PUT_TOPIC, PUT, DELETE = 103, 104, 322, 217, 100, 102
OFTEN = (REGISTER, REGISTER, UNREGISTER, 105, QUERY, 901, PUT, 216)
NAMES = (own("a"), own("b"), own("C"), own("D"), own("T"), own("U"), address(1), address(2), own("n"))
VALUES = (
    *("", "0", "1", "-1", "+1", " 1", "1 ", "007", "1.0", "1e2", "0x10", "1_000", "-0", "--1", "2147483648"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "\u0661", "Infinity"),
    *("true", "TRUE", "false", "yes", "null", "a b", "\n", "\0", "\u00fc", "\U0001f600", "x" * 300),
)  # fmt: skip
FIELDS = (
    *("topic", "clusterName", "cluster", "brokerName", "brokerAddr", "brokerId", "namespace", "key", "value", "x"),
    *("acceptStandardJsonOnly", "__ZONE_MODE", "__ZONE_NAME", "enableActingMaster", "compressed", "bodyCrc32"),
    *("haServerAddr", "heartbeatTimeoutMillis"),
)  # fmt: skip
BODIES = (
    *(b"", b"{}", b"null", b"[]", b"x", b'""', b"0", b"\xff\xfe", b'{"counter":"1"}', dumps(data_version())),
    *(dumps({"queueDatas": [queue("a")]}), dumps({"queueDatas": [queue("a", perm="6 ")]})),
    *(register_body(configs(("T", "U"))), register_body(configs(("U", "V")))),
)  # fmt: skip
# None of them ends before a sequence does.
TIMEOUTS = ("abc", "", "60000", "+70000")


def odd(seed: str, number: int) -> tuple[Step, ...]:
    """A request that no real peer writes: any field with any value, any body with any code.

    Left out is what docs/differences.md lists: registrations without name or address, unregistrations with a null.
    """
    chance = random.Random(f"{seed}/{number}")
    code = chance.choice(CODES + OFTEN)
    ext = {name: chance.choice(NAMES + VALUES) for name in FIELDS if chance.random() < 0.45}
    if chance.random() < 0.5 or code in (REGISTER, UNREGISTER):
        ext |= _somebody(chance, code)
    body = chance.choice(BODIES) if code in (REGISTER, PUT_TOPIC, QUERY) or chance.random() < 0.2 else b""
    form = Form(chance.random() < 0.4, chance.choice(ODD_VERSIONS))
    without = chance.random() < 0.03 and code != UNREGISTER
    asked = Ask(Request(code, None if without else ext, body, form=form))
    return (asked, Settle()) if code == UNREGISTER else (asked,)


def _somebody(chance: random.Random, code: int) -> dict[str, str]:
    """Fields that name what is there: brokers of one cluster, topics.

    No address is in two groups, and no single topic is refused: Java keeps such entries for ever.
    """
    name = chance.choice("ab")
    fields = broker(name, chance.choice((1, 2)) + 2 * (name == "b"))
    broker_id = chance.choice(("0", "1", "7") if code == UNREGISTER else ("0", "1", "2", *VALUES))
    timeout = {"heartbeatTimeoutMillis": chance.choice(TIMEOUTS)}
    return fields | {"brokerId": broker_id, "topic": own(chance.choice("TU")), "cluster": own("C")} | timeout


def scenario(seed: str, numbers: Sequence[int] = range(STEPS)) -> Scenario:
    """The steps with these numbers of a seed's sequence."""
    return Scenario(f"seed-{seed}", "", tuple(_steps(seed, numbers)), forms=ONE_FORM)


def _steps(seed: str, numbers: Sequence[int]) -> Iterator[Step]:
    for count, number in enumerate(numbers, 1):
        yield from odd(seed, number) if seed.startswith(ODD) else Maker(seed, number).make()
        if count % COMPARE_EVERY == 0:
            yield Compare()


def as_text(numbers: Sequence[int]) -> str:
    """Numbers as the command line takes them: ``3,17,20-25``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ",".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else str(one[0]) for one in ranges)


def from_text(text: str) -> list[int]:
    """The numbers of ``as_text``."""
    ends = (part.split("-") for part in text.split(","))
    return [number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)]


def shrink(items: Sequence[Item], fails: Callable[[list[Item]], bool], tries_max: int) -> list[Item]:
    """A short part of a failing list that still fails: leaves out ever smaller pieces as long as it fails without them
    (ddmin)."""
    found, pieces, tries = list(items), 2, 0
    while len(found) > 1:
        size = -(-len(found) // pieces)
        for start in range(0, len(found), size):
            shorter = found[:start] + found[start + size :]
            tries += 1
            if tries > tries_max:
                return found
            if shorter and fails(shorter):
                found, pieces = shorter, max(pieces - 1, 2)
                break
        else:
            if size == 1:
                return found
            pieces = min(pieces * 2, len(found))
    return found
