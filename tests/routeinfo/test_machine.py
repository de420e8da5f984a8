"""The real route tables and a fake clock, under any sequence of actions of brokers, tools, connections and time.

A second machine compares a server that recognises repeated bodies with one that reads all.

A failure prints the steps that lead to it and a line that replays it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from rocketns.protocol.body.register_broker_body import TopicConfigWrapper
from rocketns.protocol.body.route import DataVersion, TopicConfig, TopicQueueMappingInfo, TopicTable, queue_data
from rocketns.protocol.headers import RegisterBrokerRequestHeader
from rocketns.routeinfo import liveness, registration
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.registration import BrokerRegistration, RegisterBrokerResult, register_broker
from rocketns.routeinfo.tables import HEARTBEAT_TIMEOUT_MS_MAX, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest
from tests.routeinfo.manager import MASTER, SLAVE, WRITE, Broker, Manager, Replay, check_tables, check_views, table_of
from tests.support.profile import new_seed, run_machine

SEED = new_seed()

# Few of each, so that they interact.
clusters = st.sampled_from(["C1", "C2"])
names = st.sampled_from(["ba", "bb"])
addrs = st.sampled_from(["a:1", "a:2", "a:3"])
ids = st.sampled_from([0, 1, 2, -1])
topics = st.sampled_from(["T1", "T2", "T3", "rmq_sys_SYNC_BROKER_MEMBER_ba"])
channels = st.sampled_from(["x1", "x2"])
queues = st.builds(queue_data, st.just(8), st.just(8), st.sampled_from([0, 4, 6, 7]), st.integers(0, 3))
versions = st.none() | st.builds(DataVersion, st.integers(0, 1), st.just(1), st.integers(0, 1))
brokers = st.builds(
    Broker, clusters, names, addrs, ids, st.none() | st.just("h:1"), st.sampled_from([None, False, True]), versions,
    st.sampled_from([None, "z1", "z2"]), st.sampled_from([None, 0, 50, 2**63 - 1]), channels,
)  # fmt: skip
tables = st.none() | st.dictionaries(
    topics, st.builds(TopicConfig, st.one_of(topics, topics, topics, st.none()), queues), max_size=3
)
mappings = st.dictionaries(topics, st.builds(TopicQueueMappingInfo, topics, st.none() | names), max_size=1)
filters = st.none() | st.lists(st.just("f:1"), max_size=1)
requests = st.builds(
    UnregisterRequest, clusters | st.none(), addrs | st.none(), names | st.none(), ids | st.none(),
    st.just(Cause.UNREGISTER),
)  # fmt: skip


class RouteMachine(RuleBasedStateMachine):
    """Unregistrations wait in a queue, as they do in the server, so that everything else can come in between."""

    def __init__(self) -> None:
        super().__init__()
        self.manager = Manager()
        self.replay = Replay()
        self.waiting: list[UnregisterRequest] = []

    def told(self) -> None:
        self.replay.apply(self.manager.events)
        self.manager.events.clear()

    @rule(broker=brokers, table=tables, infos=mappings, servers=filters)
    def register(self, broker: Broker, table: dict[str, TopicConfig] | None, infos: dict, servers: list | None) -> None:
        result = self.manager.register(broker, table, infos, servers)
        group = self.manager.tables.broker_addr_table.get(broker.name)
        if group is None:
            return
        if group.broker_addrs.get(broker.id) == broker.addr:
            assert not result.refused
            assert self.manager.live(broker) is not None
        assert result.master_addr is None or (broker.id and result.master_addr == group.broker_addrs[0])
        self.told()

    @rule(broker=brokers)
    def register_without_wrapper(self, broker: Broker) -> None:
        self.manager.register_wrapper(broker, None)
        self.told()

    @rule(broker=brokers, missing=st.sampled_from(["cluster", "name", "addr"]))
    def register_nobody(self, broker: Broker, missing: str) -> None:
        before = repr(self.manager.tables)
        self.manager.register(broker.but(**{missing: None}), {})
        assert repr(self.manager.tables) == before

    @rule(request=requests)
    def ask_to_unregister(self, request: UnregisterRequest) -> None:
        self.waiting.append(request)

    @rule(channel=channels, cause=st.sampled_from([Cause.CHANNEL_CLOSE, Cause.CHANNEL_IDLE]))
    def close(self, channel: str, cause: Cause) -> None:
        self.waiting += liveness.closed_connection(self.manager.tables, channel, cause)

    @rule(ms=st.sampled_from([1, 49, 50, 51, 120_001]))
    def scan(self, ms: int) -> None:
        self.manager.now_ms += ms
        expired = liveness.expired_brokers(self.manager.tables, self.manager.now_ms)
        self.waiting += [one.request for one in expired]

    @rule()
    def apply_unregistrations(self) -> None:
        self.manager.unregister(*self.waiting)
        self._check_applied()
        self.waiting.clear()
        self.told()

    def _check_applied(self) -> None:
        for request in self.waiting:
            group = self.manager.tables.broker_addr_table.get(request.broker_name or "")
            asked_for_all = None not in (request.cluster, request.addr, request.broker_id)
            if group is None or not asked_for_all or request.entry is not None:
                continue
            assert request.addr not in group.broker_addrs.values()
            if group.enable_acting_master and min(group.broker_addrs) > 0:
                tables = self.manager.tables
                perms = [tables.topic_queue_table[topic][group.broker_name].perm
                         for topic in tables.topics_of_broker(group.broker_name)]  # fmt: skip
                assert not any(perm & WRITE for perm in perms), "a group without a master can be written to"

    @rule(cluster=clusters, addr=addrs)
    def heartbeat(self, cluster: str, addr: str) -> None:
        self.manager.tables.refresh(cluster, addr, self.manager.now_ms)

    @rule(
        topic=topics | st.none(), datas=st.lists(st.tuples(names | st.none() | st.just("nobody"), queues), max_size=2)
    )
    def register_topic(self, topic: str | None, datas: list) -> None:
        self.manager.register_topic(topic, *datas)
        self.told()

    @rule(topic=topics | st.none(), cluster=clusters | st.none() | st.just(""))
    def delete_topic(self, topic: str | None, cluster: str | None) -> None:
        self.manager.delete_topic(topic, cluster)
        self.told()

    @rule(name=names | st.none(), wipe=st.booleans())
    def operate_write_perm(self, name: str | None, wipe: bool) -> None:
        (self.manager.wipe_write_perm if wipe else self.manager.add_write_perm)(name)
        self.told()

    @rule(acting=st.booleans(), delete=st.booleans())
    def switch(self, acting: bool, delete: bool) -> None:
        self.manager.config.support_acting_master = acting
        self.manager.config.delete_topic_with_broker_registration = delete

    @invariant()
    def tables_are_sound(self) -> None:
        check_tables(self.manager.tables, self.manager.now_ms)
        check_views(self.manager.tables, self.manager.config)

    @invariant()
    def events_tell_everything(self) -> None:
        self.replay.check(self.manager.tables)

    def teardown(self) -> None:
        """All ends when the connections close and the longest timeout is over."""
        manager = self.manager
        for channel in ("x1", "x2"):
            manager.close(channel)
        manager.now_ms += HEARTBEAT_TIMEOUT_MS_MAX + 1
        manager.scan()
        assert manager.tables == RouteTables(), "something stays without end"
        assert manager.tables.members_of == manager.tables.registrants == manager.tables.orphans == {}


run = partial(run_machine, RouteMachine, "tests/routeinfo/test_machine.py")


def test_the_tables_stay_consistent() -> None:
    run(SEED, stateful_step_count=40)


# A registration with a repeated body is handled without its topics; tables and events are the same.

EPOCH_MS = 1_700_000_000_500


@dataclass(frozen=True)
class Body:
    """A decoded body, which its fingerprint identifies."""

    version: DataVersion | None
    table: dict[str, TopicConfig] | None
    mappings: dict[str, TopicQueueMappingInfo] = field(default_factory=dict)
    filters: list[str | None] | None = None

    def wrapper(self) -> TopicConfigWrapper:
        table = None if self.table is None else TopicTable.of(self.table.items())
        return TopicConfigWrapper(self.version, table, self.mappings)


@dataclass
class Remembering(Manager):
    """Registers like the processor: a repeated body is not read. ``repeated`` counts these."""

    repeated: int = 0

    def register_body(self, broker: Broker, body: Body) -> RegisterBrokerResult:
        header = RegisterBrokerRequestHeader(
            broker.name, broker.addr, broker.cluster, broker_id=broker.id, enable_acting_master=broker.acting
        )
        short = registration.repeated_body(self.tables, self.config, header, repr(body))
        self.repeated += short is not None
        wrapper = body.wrapper() if short is None else short.topic_config_wrapper
        filters = body.filters if short is None else short.filter_server_list
        asked = BrokerRegistration(
            broker.cluster, broker.addr, broker.name, broker.id, broker.ha_addr, broker.zone, broker.timeout_ms,
            broker.acting, wrapper, filters, broker.channel, EPOCH_MS, repr(body),
        )  # fmt: skip
        result = register_broker(self.tables, self.config, asked, self.now_ms)
        self.note(result.events)
        return result


TWO = Body(MASTER.version, table_of("T1", "T2"))


@pytest.fixture
def manager() -> Remembering:
    manager = Remembering()
    manager.register_body(MASTER, TWO)
    return manager


def test_a_slave_that_becomes_the_smallest_brings_its_topics(manager: Remembering) -> None:
    """B150: with the same body that was ignored while there was a master."""
    mine = Body(MASTER.version, table_of("T1", "T2", "T3"))
    slave = SLAVE.but(acting=False)
    for _ in range(2):
        manager.register_body(slave, mine)
    assert (manager.repeated, manager.pick_up("T3")) == (1, None)
    manager.unregister(MASTER)
    manager.register_body(slave, mine)
    assert manager.route("T3").queue_datas


def test_an_address_that_takes_another_id_or_name_is_read(manager: Remembering) -> None:
    """B154."""
    for sender in (MASTER.but(name="other"), MASTER.but(name="other", id=1)):
        manager.register_body(sender, TWO)
    assert manager.repeated == 0
    assert manager.route("T2").broker_datas[1].broker_name == "other"


@pytest.mark.parametrize(
    "body",
    [
        Body(None, TWO.table),
        Body(DataVersion(0, EPOCH_MS, 0), TWO.table),  # a body without time stamp has a new one each time
        Body(MASTER.version, TWO.table, filters=["f:1"]),
    ],
    ids=["no version", "version of now", "filter servers"],
)
def test_an_ambiguous_body_is_read_again(body: Body) -> None:
    manager = Remembering()
    for _ in range(3):
        manager.register_body(MASTER, body)
    assert manager.repeated == 0


bodies = st.builds(
    Body,
    st.sampled_from([DataVersion(0, 1, 1), DataVersion(0, 1, 2), DataVersion(1, 1, 1), None]),
    st.none() | st.dictionaries(topics, st.builds(TopicConfig, topics | st.none(), queues), min_size=2, max_size=3),
    st.dictionaries(topics, st.builds(TopicQueueMappingInfo, topics, st.none() | names), max_size=1),
    st.sampled_from([[], [], None, [], ["f:1"]]),
)


class RememberingMachine(RuleBasedStateMachine):
    """Two name servers get the same registrations; only one of them remembers bodies."""

    repeats: ClassVar[list[int]] = []

    def __init__(self) -> None:
        super().__init__()
        self.short, self.whole = Remembering(), Manager()
        self.sent: list[tuple[Broker, Body]] = []

    def register(self, broker: Broker, body: Body) -> None:
        before = self.short.repeated
        result = self.short.register_body(broker, body)
        expected = self.whole.register_wrapper(broker, body.wrapper(), body.filters)
        assert result == expected
        self.repeats.append(self.short.repeated - before)

    @rule(broker=brokers, body=bodies)
    def register_anew(self, broker: Broker, body: Body) -> None:
        self.sent.append((broker, body))
        self.register(broker, body)

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(1, 3), channel=channels)
    def register_again(self, back: int, channel: str) -> None:
        broker, body = self.sent[-min(back, len(self.sent))]
        self.register(broker.but(channel=channel), body)

    @precondition(lambda self: self.sent)
    @rule(change=st.sampled_from([
        {"cluster": "C2"}, {"addr": "a:2"}, {"name": "bb"}, {"id": 0}, {"id": 1}, {"acting": None}, {"acting": True},
    ]))  # fmt: skip
    def register_as_another(self, change: dict[str, Any]) -> None:
        broker, body = self.sent[-1]
        self.register_anew(broker.but(**change), body)

    @rule(request=requests)
    def unregister(self, request: UnregisterRequest) -> None:
        assert self.short.unregister(request) == self.whole.unregister(request)

    @rule(topic=topics, cluster=clusters | st.none())
    def delete_topic(self, topic: str, cluster: str | None) -> None:
        assert self.short.delete_topic(topic, cluster) == self.whole.delete_topic(topic, cluster)

    @rule(topic=topics, datas=st.lists(st.tuples(names, queues), max_size=2))
    def register_topic(self, topic: str, datas: list[Any]) -> None:
        assert self.short.register_topic(topic, *datas) == self.whole.register_topic(topic, *datas)

    @rule(name=names)
    def wipe(self, name: str) -> None:
        assert self.short.wipe_write_perm(name) == self.whole.wipe_write_perm(name)

    @rule(delete=st.booleans())
    def switch(self, delete: bool) -> None:
        for manager in (self.short, self.whole):
            manager.config.delete_topic_with_broker_registration = delete

    @rule(ms=st.sampled_from([1, 51]))
    def wait(self, ms: int) -> None:
        for manager in (self.short, self.whole):
            manager.now_ms += ms
            manager.scan()

    @invariant()
    def nobody_can_tell(self) -> None:
        assert repr(self.short.tables).partition("removals=")[0] == repr(self.whole.tables).partition("removals=")[0]
        assert self.short.events == self.whole.events


def repeated_registrations(**limits: Any) -> int:
    """Run the two; how many registrations were handled without their topics."""
    machine = type("Machine", (RememberingMachine,), {"repeats": []})
    run_state_machine_as_test(seed(11)(machine), settings=settings(deadline=None, stateful_step_count=40, **limits))
    return sum(machine.repeats)


def test_a_server_that_remembers_bodies_does_what_one_does_that_reads_all() -> None:
    assert repeated_registrations(max_examples=50) > 20
