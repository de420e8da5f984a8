"""Nobody takes away or changes what is another's: takeovers of a broker's id, requests of a restricted principal."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.payloads import dumps, register_body, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.access.classes import OF_A_BROKER, OF_A_NAMESPACE, Access, Mode, access_request
from rocketns.access.policy import Policy
from rocketns.access.principal import Globs, Principal
from rocketns.access.takeover import Excuse, excuse_of, is_live
from rocketns.errors import BodyDecodeError
from rocketns.protocol import command
from rocketns.protocol.body.decoding import decode_queue_datas
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.headers import (
    BrokerAddressRequestHeader,
    KVConfigRequestHeader,
    RegisterBrokerRequestHeader,
    decode_header,
)
from rocketns.routeinfo import liveness
from rocketns.routeinfo.doubt import Doubt, DoubtReason
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import FORMER_OF_A_GROUP_MAX, BrokerAddrInfo
from rocketns.routeinfo.unregistration import unregister_brokers
from tests.processor.asking import Connection, World
from tests.routeinfo.manager import Broker, Manager, table_of

NAME = "b1"
OLD, NEW = "10.0.0.1", "10.0.0.2"
NAT = "192.0.2.1"
STRANGER = "203.0.113.9"


def broker(host: str, number: int = 0, **more: object) -> Broker:
    """A broker that registers from its own host."""
    return Broker(name=NAME, addr=f"{host}:10911", id=number, announced_by=host).but(**more)


def join(manager: Manager, by: Broker) -> None:
    """A registration with two topics: one with a single topic may be refused."""
    manager.register(by, table_of("baseTopic", "T"))


@pytest.fixture
def manager() -> Manager:
    """One master is registered."""
    manager = Manager()
    join(manager, broker(OLD))
    return manager


def holder(manager: Manager, by: Broker) -> str | None:
    group = manager.tables.broker_addr_table.get(by.name)
    addr = None if group is None else group.broker_addrs.get(by.id)
    if addr is None or addr == by.addr:
        return None
    return addr if is_live(manager.tables, by.name, by.id, addr, manager.now_ms) else None


def excuse(manager: Manager, by: Broker, *principals: Principal) -> Excuse | None:
    return excuse_of(manager.tables, by.name, by.addr, by.announced_by, principals)


def owner(*groups: str) -> Principal:
    return Principal("brokers", frozenset({Access.BROKER}), owns=Globs(groups))


def doubted(manager: Manager) -> Manager:
    """The master is restored, and unconfirmed for a second."""
    key = BrokerAddrInfo(broker(OLD).cluster, broker(OLD).addr)
    liveness.doubt_broker(manager.tables, key, Doubt(DoubtReason.RESTORED, 0, manager.now_ms + 1_000), manager.now_ms)
    return manager


# A takeover takes the id of a live broker: the property below, and what its history does not have.


def test_a_holder_is_live_until_it_is_overdue_or_its_connection_ended(manager: Manager) -> None:
    """An overdue one is not live even before the scan finds it. A pod returns while its node still runs."""
    manager.now_ms += 120_000
    assert holder(manager, broker(NEW)) == f"{OLD}:10911"
    manager.now_ms += 1
    assert holder(manager, broker(NEW)) is None
    again = broker(OLD)
    join(manager, again)
    join(manager, broker(NEW, 1))
    manager.close(again.channel)
    assert holder(manager, broker(STRANGER)) is None


def test_an_unconfirmed_holder_is_in_the_routes_and_counts_as_live(manager: Manager) -> None:
    doubted(manager)
    assert holder(manager, broker(NEW)) == f"{OLD}:10911"
    manager.now_ms += 1_001
    assert holder(manager, broker(NEW)) is None


# What allows it. The address is a field of the request, and any peer can send it: its own host must have announced it.

SLAVE = broker(NEW, 1)
EXCUSES: dict[str, tuple[list[Broker], Broker, Excuse | None]] = {
    "a stranger": ([], broker(STRANGER), None),
    "a slave becomes the master": ([SLAVE], broker(NEW), "was_member"),
    "a master that lost its id returns": ([broker(NEW)], broker(OLD), "was_member"),
    "a stranger names the address of a member": ([SLAVE], broker(NEW).but(announced_by=STRANGER), None),
    "a member behind a gateway": ([SLAVE.but(announced_by=NAT)], broker(NEW).but(announced_by=NAT), "was_member"),
    "a stranger announced a member's address later": (
        [SLAVE, SLAVE.but(announced_by=STRANGER)], broker(NEW).but(announced_by=STRANGER), None,
    ),
    "hosts that are not known, as behind a PROXY header": (
        [SLAVE.but(announced_by=None)], broker(NEW).but(announced_by=None), None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("is_former", [False, True], ids=["member", "former"])
@pytest.mark.parametrize(("joined", "by", "expected"), EXCUSES.values(), ids=EXCUSES)
def test_only_a_member_or_a_former_one_takes_over(
    manager: Manager, joined: list[Broker], by: Broker, expected: Excuse | None, is_former: bool
) -> None:
    join(manager, broker("10.0.0.3", 2))
    for one in joined:
        join(manager, one)
    if joined and is_former:
        manager.unregister(joined[-1])
    assert excuse(manager, by) is expected


@pytest.mark.parametrize("how", ["unregistered", "closed", "expired"])
def test_a_broker_that_left_returns_while_another_has_its_id(manager: Manager, how: str) -> None:
    join(manager, broker(NEW, 1, timeout_ms=999_999))
    match how:
        case "unregistered":
            manager.unregister(broker(OLD))
        case "closed":
            manager.close(next(iter(manager.tables.owned)))
        case "expired":
            manager.now_ms += 120_001
            manager.scan()
    join(manager, broker(NEW, 0))
    assert holder(manager, broker(OLD)) is not None
    assert excuse(manager, broker(OLD)) == "was_member"


def test_who_replaced_an_unconfirmed_broker_is_replaced_by_it(manager: Manager) -> None:
    join(doubted(manager), broker(STRANGER))
    assert excuse(manager, broker(OLD)) == "was_member"


def test_the_owner_of_the_group_may_take_over_and_is_looked_for_last(manager: Manager) -> None:
    """To find principals, a signature over the whole body may be computed."""
    assert excuse(manager, broker(STRANGER), owner("other"), owner("b*")) == "owns_group"
    assert excuse(manager, broker(STRANGER), owner("other"), Principal("p", frozenset({Access.BROKER}))) is None
    join(manager, SLAVE)
    by, looked_for = broker(NEW), iter([owner("*")])
    assert excuse_of(manager.tables, NAME, by.addr, NEW, looked_for) == "was_member"
    assert next(looked_for, None) is not None


# The memory of former members


def test_former_members_are_forgotten_with_their_group(manager: Manager) -> None:
    join(manager, broker(NEW))
    manager.unregister(broker(NEW))
    assert not manager.tables.former.of(NAME)
    join(manager, broker(STRANGER))
    assert excuse(manager, broker(OLD)) is None


def test_a_group_remembers_a_few_former_members(manager: Manager) -> None:
    hosts = [f"10.0.1.{number}" for number in range(FORMER_OF_A_GROUP_MAX + 2)]
    for host in hosts:
        join(manager, broker(host))
    assert list(manager.tables.former.of(NAME)) == [f"{host}:10911" for host in hosts[1:-1]]


# Compared with what registrations do

hosts = st.sampled_from([OLD, NEW, STRANGER])
steps = st.tuples(
    st.sampled_from(["register", "register", "register", "unregister", "wait"]), hosts, st.integers(0, 2),
    st.sampled_from(["c1", "c2"]),
)  # fmt: skip


@given(st.lists(steps, max_size=20))
def test_each_live_broker_that_loses_its_id_to_another_was_a_holder(history: list[tuple[str, str, int, str]]) -> None:
    """And who was no holder loses nothing to another address."""
    manager = Manager()
    for what, host, number, cluster in history:
        by = broker(host, number).but(cluster=cluster)
        if what == "wait":
            manager.now_ms += 50_000
            manager.scan()
        elif what == "unregister":
            manager.unregister(by)
        else:
            found, group = holder(manager, by), manager.tables.broker_addr_table.get(NAME)
            before = None if group is None else group.broker_addrs.get(number)
            registrant = manager.tables.registrants.get(NAME, {}).get(number)
            is_live = manager.tables.live(registrant, before) is not None
            join(manager, by)
            loses = before is not None and before != by.addr and is_live
            assert found == (before if loses else None)


# What is judged is what the processors read. Names of fields, and what a peer may hope to be taken for them:

NAMES = [
    "brokerName", "brokername", "BROKERNAME", "broker_name", "brokerName ", "brokerNam\\u0065", "bname",
    "brokerAddr", "BrokerAddr", "addr", "namespace", "Namespace", "clusterName", "",
]  # fmt: skip
texts = st.sampled_from(["a1", "b", "10.0.0.2:10911", "", "null", "b\x00", "\uff42"])
pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.none() | texts), max_size=8)


def json_frame(code: int, fields: list[tuple[str, str | None]]) -> bytes:
    """With equal names as often as they are given; ``\\u0065`` stays an escape."""
    ext = ",".join(f'"{name}":{json.dumps(value)}' for name, value in fields)
    return frame(json_header(code, {"@": 0}).replace(b'{"@":0}', b"{%s}" % ext.encode()))


def binary_frame(code: int, fields: list[tuple[str, str | None]]) -> bytes:
    """Likewise. A null is an empty value."""
    section = b"".join(
        struct.pack(">h", len(name.encode())) + name.encode() + struct.pack(">i", len((value or "").encode()))
        + (value or "").encode() for name, value in fields
    )  # fmt: skip
    return frame(binary_header(code)[:-4] + struct.pack(">i", len(section)) + section, b"", ROCKETMQ)


Framing = Callable[[int, list[tuple[str, str | None]]], bytes]


@pytest.mark.parametrize("framed", [json_frame, binary_frame])
@given(code=st.sampled_from(sorted(OF_A_BROKER)), in_namespace=st.sampled_from(sorted(OF_A_NAMESPACE)), fields=pairs)
@example(code=104, in_namespace=100, fields=[("brokerName", "a1"), ("brokerName", "b")])
@example(code=104, in_namespace=100, fields=[("brokerName", "a1"), ("brokerName", None)])
def test_what_is_judged_is_what_the_processor_reads(
    framed: Framing, code: int, in_namespace: int, fields: list[tuple[str, str | None]]
) -> None:
    """Also with equal names, nulls, empty texts, and names that differ in capitals."""
    request = command.decode(framed(code, fields))
    kind = RegisterBrokerRequestHeader if code == RequestCode.REGISTER_BROKER else BrokerAddressRequestHeader
    header = decode_header(request, kind)  # type: ignore[type-var]
    judged = access_request(request, Access.BROKER)
    assert judged.brokers() == [header.broker_name or ""]  # type: ignore[attr-defined]
    assert judged.address == (header.broker_addr or "")  # type: ignore[attr-defined]
    request = command.decode(framed(in_namespace, fields))
    assert access_request(request, Access.READ).namespace == (
        decode_header(request, KVConfigRequestHeader).namespace or ""
    )


bodies = st.one_of(
    st.binary(max_size=40),
    st.lists(st.fixed_dictionaries({"brokerName": st.none() | texts | st.integers()}), max_size=3).map(
        lambda some: dumps({"queueDatas": some})
    ),
    st.sampled_from(
        [b'{"queueDatas":{"brokerName":"b"}}', b'{"queueDatas":[null]}', b"null", b"[]", b'{"queuedatas":[]}']
    ),
)


@given(body=st.none() | bodies)
@example(body=b'{"queueDatas":[{"brokerName":"a1"}],"queueDatas":[{"brokerName":"b"}]}')
def test_the_brokers_of_a_topic_that_are_judged_are_those_of_the_processor(body: bytes | None) -> None:
    """A body that the processor refuses names nobody."""
    request = RemotingCommand(RequestCode.REGISTER_TOPIC_IN_NAMESRV, 513, 1, 0, {"topic": "T"}, body)
    judged = access_request(request, Access.BROKER).brokers()
    try:
        assert judged == [name or "" for name, _ in decode_queue_datas(body)]
    except BodyDecodeError:
        assert judged == []


# A principal that may register brokers of one name does nothing to those of another

ATTACKER, OWN, OTHER = "10.0.0.9", "10.0.0.9:10911", "10.0.0.2:10911"
POLICY = Policy(
    (Principal("a", frozenset({Access.BROKER}), networks=(ip_network(f"{ATTACKER}/32"),), broker_names=Globs(["a*"])),),
    {Access.BROKER: Mode.ENFORCE},
)
MAPPED = {
    "T": {"bname": "b", "currIdMap": {}, "epoch": 9, "scope": "x", "topic": "T", "totalQueues": 8, "dirty": False}
}


def restricted(home: Path) -> World:
    """The broker ``b`` is registered, and the attacker may register ``a*``."""
    world = World(home)
    world.peer = Connection("10.0.0.2:1234", host="10.0.0.2")
    world.register("T", "U", cluster="c", broker="b", addr=OTHER)
    world.context.guard.policy = POLICY
    world.peer = Connection(f"{ATTACKER}:1234", host=ATTACKER)
    world.now = world.now._replace(ms=world.now.ms + 1_000)
    return world


def ask(world: World, code: int, ext: dict[str, Any], body: bytes | None = None) -> int:
    """As control does: 16 if the request is refused."""
    request = RemotingCommand(code, 513, 1, 0, {key: str(v) for key, v in ext.items() if v is not None}, body)
    verdict = world.context.guard.ask(world.peer, request, Access.BROKER, world.now.ms, world.context.tables)
    return 16 if verdict.error is not None else world.ask(code, ext, body).code


def apply_all(world: World) -> None:
    """Unregistrations that wait, and those of the connection, which ends."""
    context = world.context
    leaving = [*context.unregister_queue.remove_first(10**6)]
    leaving += liveness.closed_connection(context.tables, world.peer, Cause.CHANNEL_CLOSE)  # type: ignore[arg-type]
    unregister_brokers(context.tables, leaving, world.now.ms)
    while orphaned := liveness.orphaned(context.tables, 100):
        unregister_brokers(context.tables, orphaned, world.now.ms)


def of_b(world: World) -> str:
    """All that the tables have of the broker ``b``."""
    tables = world.context.tables
    topics = {topic: queues["b"] for topic, queues in tables.topic_queue_table.items() if "b" in queues}
    mappings = {topic: infos.get("b") for topic, infos in tables.topic_queue_mapping_info_table.items() if "b" in infos}
    live = tables.broker_live_table[BrokerAddrInfo("c", OTHER)]
    return f"{tables.broker_addr_table['b']} {live} {topics} {mappings}"


requests = st.tuples(
    st.sampled_from([103, 104, 322, 904, 217]),
    st.fixed_dictionaries({
        "brokerName": st.sampled_from(["a1", "a2", "b", "", None]),
        "brokerAddr": st.sampled_from([OWN, OTHER, "", None]),
        "clusterName": st.sampled_from(["c", "c2", "", None]),
        "brokerId": st.sampled_from([0, 1, -1, None]),
        "heartbeatTimeoutMillis": st.sampled_from([1, None]),
        "topic": st.sampled_from(["T", "new"]),
    }),
    st.sampled_from([
        register_body([topic_config("T"), topic_config("U")]),
        register_body([topic_config("T"), topic_config("V")], mapping=MAPPED),
        dumps({"queueDatas": [{"brokerName": "b", "perm": 2}]}),
        dumps({"queueDatas": [{"brokerName": "a1"}, {"brokerName": "b", "perm": 2}]}),
        None,
    ]),
)  # fmt: skip


@given(st.lists(requests, max_size=6))
@example([(103, {"brokerName": "a1", "brokerAddr": OTHER, "clusterName": "c", "brokerId": 0}, register_body([]))])
@example([(904, {"brokerName": "a1", "brokerAddr": OTHER, "clusterName": "c", "brokerId": 0}, None)])
@example([(104, {"brokerName": "a1", "brokerAddr": OTHER, "clusterName": "c", "brokerId": 0}, None)])
@example([
    (103, {"brokerName": "a1", "brokerAddr": OWN, "clusterName": "c", "brokerId": 0},
     register_body([topic_config("T"), topic_config("V")], mapping=MAPPED)),
])  # fmt: skip
def test_no_request_touches_a_broker_of_another_name(some: list[tuple[int, dict[str, Any], bytes | None]]) -> None:
    """Neither its members, nor its sign of life, nor its topics, nor its mappings; also not when its sender leaves."""
    with TemporaryDirectory() as home:
        world = restricted(Path(home))
        before = of_b(world)
        for code, ext, body in some:
            ask(world, code, ext, body)
        apply_all(world)
        assert of_b(world) == before


def test_nobody_bars_a_broker_by_registering_its_address_first(tmp_path: Path) -> None:
    """The address is that of its own host, whatever groups list it."""
    world = World(tmp_path)
    world.peer = Connection("10.0.0.2:1", host="10.0.0.2")
    world.register("T", "U", cluster="c", broker="b", addr=OWN)
    world.context.guard.policy = POLICY
    world.peer = Connection(f"{ATTACKER}:1234", host=ATTACKER)
    ext = {"brokerName": "a1", "brokerAddr": OWN, "clusterName": "c", "brokerId": 0}
    assert ask(world, 103, ext, register_body([topic_config("T"), topic_config("U")])) == 0
    assert ask(world, 904, ext) == 0
