"""The real route tables and a fake clock, under any sequence of actions of brokers, tools, connections and time.

A failure prints the steps that lead to it and a line that replays it.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rocketns.protocol.body.route import DataVersion, TopicConfig, TopicQueueMappingInfo, queue_data
from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import HEARTBEAT_TIMEOUT_MS_MAX, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest
from tests.routeinfo.manager import WRITE, Broker, Manager, Replay, check_tables, check_views
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


def test_the_tables_stay_consistent() -> None:
    run_machine(RouteMachine, "tests/routeinfo/test_machine.py", SEED, stateful_step_count=40)
