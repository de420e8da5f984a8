"""The slots agree with the tables about every topic, after any actions of brokers, tools, connections and time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from rocketns._fast.routes.routes import RouteSlots, bucket_digests, topic_count, topic_digest, topics_of_bucket
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import TopicConfig, TopicRouteData
from rocketns.protocol.codes import DIGEST_BUCKETS, MASTER_ID
from rocketns.routeinfo import view
from rocketns.server.publishing.publisher import Publisher
from tests.compiled.parts import HANDED_OVER, body_of
from tests.fleet.digests import digest_of
from tests.routeinfo.manager import Broker, Manager
from tests.routeinfo.test_machine import SEED, RouteMachine, brokers, queues
from tests.support.profile import run_machine

TOPICS = ["T1", "T2", "T3", "rmq_sys_SYNC_BROKER_MEMBER_ba", "nobody's", *(f"many{number}" for number in range(200))]


def route_of(manager: Manager, topic: str) -> TopicRouteData | None:
    return view.pick_up_route(manager.tables, manager.config, topic)


def is_simple(manager: Manager, route: TopicRouteData) -> bool:
    """Whether fragments can express the route, also after any switch is changed."""
    groups = [manager.tables.broker_addr_table[group.broker_name] for group in route.broker_datas]
    masterless = any(g.broker_addrs and g.enable_acting_master and MASTER_ID not in g.broker_addrs for g in groups)
    filters = manager.tables.filter_server_table
    has_filters = any((g.cluster, addr) in filters for g in groups for addr in g.broker_addrs.values())
    return not (masterless or has_filters or route.topic_queue_mapping_by_broker)


class SlotMachine(RouteMachine):
    """The tables' state machine, with slots beside the tables."""

    def __init__(self) -> None:
        super().__init__()
        self.publisher = Publisher(self.manager.tables)
        self.static: set[str] = set()

    def told(self) -> None:
        self.static |= self.manager.tables.static_topics
        self.publisher.publish(self.manager.events)
        super().told()

    @rule(broker=brokers, queues=queues, count=st.integers(1, 200))
    def register_many(self, broker: Broker, queues: Any, count: int) -> None:
        """More changes at once than control publishes while reactors wait."""
        table = {f"many{number}": TopicConfig(f"many{number}", queues) for number in range(count)}
        self.register(broker, table, {}, None)

    @invariant()
    def slots_are_the_tables(self) -> None:
        for topic in TOPICS:
            route = route_of(self.manager, topic)
            for standard in (False, True):
                shown = body_of(self.publisher.slots, topic.encode(), standard)
                if shown != HANDED_OVER:
                    assert shown == (route and bodies.topic_route_data(route, standard=standard)), topic
                else:
                    assert topic in self.static or (route and not is_simple(self.manager, route)), topic

    @invariant()
    def no_topic_is_left_over(self) -> None:
        assert topic_count(self.publisher.slots) == len(self.manager.tables.topic_queue_table)


def test_slots_always_equal_the_tables() -> None:
    run_machine(SlotMachine, "tests/fast/test_routes.py", SEED, stateful_step_count=40, max_examples=30)


NAMES = ["b", "ba", "a", "c", "Ü", "\U0001f600", "\uffff", "", "b" * 300]


def element(broker_name: str, queues: tuple[int, int, int, int]) -> bytes:
    return f"{broker_name}{queues}".encode()


SOME = [f"T{number}" for number in range(8)]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans(), st.lists(st.sampled_from(SOME))), max_size=30))
def test_a_broker_is_found_in_every_topic_whatever_the_topic_before_it_has(
    steps: list[tuple[str, bool, list[str]]],
) -> None:
    """The search for the next topic begins at the position of the previous one. A topic may occur twice in a change."""
    slots, holders = RouteSlots(element), {topic: set[str]() for topic in SOME}
    for name in NAMES:
        slots.put_broker(name, ((name.encode(), b""),))
    for name, is_put, topics in steps:
        if is_put:
            slots.put_topics(name, [(topic, None, (1, 2, 3, 4)) for topic in topics])
        else:
            slots.delete_topics(name, topics)
        for topic in topics:
            (holders[topic].add if is_put else holders[topic].discard)(name)
        for topic, names in holders.items():
            queues = ",".join(f"{holder}(1, 2, 3, 4)" for holder in sorted(names))
            body = f'{{"brokerDatas":[{",".join(sorted(names))}],"filterServerTable":{{}},"queueDatas":[{queues}]}}'
            assert body_of(slots, topic.encode(), False) == (body.encode() if names else None)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["put", "drop", "topic", "untopic"])), max_size=60))
def test_brokers_stay_sorted_by_name_however_they_come_and_go(steps: list[tuple[str, str]]) -> None:
    slots, groups, holders = RouteSlots(element), set(), set()
    for name, step in steps:
        match step:
            case "put":
                slots.put_broker(name, ((name.encode(), b""),))
                groups.add(name)
            case "drop":
                slots.remove_broker(name)
                groups.discard(name)
            case "topic":
                slots.put_topics(name, [("T", None, (1, 2, 3, 4))])
                holders.add(name)
            case _:
                slots.delete_topics(name, ["T"])
                holders.discard(name)
        datas = ",".join(sorted(holders & groups))
        queues = ",".join(f"{holder}(1, 2, 3, 4)" for holder in sorted(holders))
        body = f'{{"brokerDatas":[{datas}],"filterServerTable":{{}},"queueDatas":[{queues}]}}'.encode()
        assert body_of(slots, b"T", False) == (body if holders & groups else None)
        assert topic_count(slots) == bool(holders)


def test_many_topics_come_and_go() -> None:
    """The table of slots grows, and after removals every remaining topic is still found."""
    slots = RouteSlots(element)
    slots.put_broker("b", ((b"B", b"S"),))
    numbers = list(range(5000))
    slots.put_topics("b", [(f"T{number}", None, (number % 7, 0, 0, 0)) for number in numbers])
    slots.delete_topics("b", [f"T{number}" for number in numbers if number % 3])
    for number in numbers:
        body = b'{"brokerDatas":[S],"filterServerTable":{},"queueDatas":[b(%d, 0, 0, 0)]}' % (number % 7)
        assert body_of(slots, b"T%d" % number, True) == (None if number % 3 else body)
    assert topic_count(slots) == sum(number % 3 == 0 for number in numbers)
    slots.delete_topics("b", [f"T{number}" for number in numbers])
    assert topic_count(slots) == 0


def test_a_topic_that_is_handed_over_stays_so() -> None:
    slots = RouteSlots(element)
    slots.put_broker("b", ((b"B", b"S"),))
    slots.hand_over("T")
    for _ in range(2):
        assert body_of(slots, b"T", False) is None
        slots.put_topics("b", [("T", None, (1, 2, 3, 4))])
        assert body_of(slots, b"T", False) == HANDED_OVER
        slots.delete_topics("b", ["T"])


def test_topics_that_are_deleted_leave_no_fragment_behind() -> None:
    """New queue data again and again: the memory of the slots does not grow."""
    slots = RouteSlots(element)
    slots.put_broker("b", ((b"B", b"S"),))

    def come_and_go(first: int) -> int:
        for number in range(first, first + 2000):
            slots.put_topics("b", [("T", None, (number, 0, 0, 0))])
            slots.delete_topics("b", ["T"])
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        come_and_go(0)
        before = come_and_go(10_000)
        assert come_and_go(20_000) - before < 20_000  # 2,000 fragments take 400,000 bytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("topics_go_first", [True, False])
def test_brokers_that_leave_for_ever_leave_nothing_behind(*, topics_go_first: bool) -> None:
    """Their place is free for others, whether their topics or their group is removed first."""
    slots = RouteSlots(element)

    def come_and_go(name: str) -> int:
        slots.put_broker(name, ((b"B", b"S"),))
        slots.put_topics(name, [("T", None, (1, 2, 3, 4))])
        goes = [lambda: slots.delete_topics(name, ["T"]), lambda: slots.remove_broker(name)]
        for go in goes if topics_go_first else reversed(goes):
            go()
        return slots.memory_bytes

    before = max(come_and_go(f"b{number}") for number in range(10))
    assert come_and_go("another") == before
    assert max(come_and_go(f"c{number}") for number in range(2_000)) == before


# The digests that the route slots keep: they depend on the routes and on nothing else.

Queues = tuple[int, int, int, int]
# (broker, topic): queues, or None to delete
Step = tuple[str, str, Queues | None]
Table = dict[str, dict[str, Queues]]

broker_names, topics = st.sampled_from("abc"), st.sampled_from(["T", "U", "Ü", "a topic with a longer name"])
NUMBERS = st.tuples(st.sampled_from([4, 8]), st.just(8), st.sampled_from([4, 6]), st.just(0))
steps = st.lists(st.tuples(broker_names, topics, st.none() | NUMBERS), max_size=30)


def slots_after(taken: Iterable[Step]) -> RouteSlots:
    slots = RouteSlots(bodies.queue_data)
    for broker, topic, numbers in taken:
        if numbers is None:
            slots.delete_topics(broker, [topic])
        else:
            slots.put_topics(broker, [(topic, None, numbers)])
    return slots


def table_after(taken: Iterable[Step]) -> Table:
    table: Table = {}
    for broker, topic, numbers in taken:
        if numbers is not None:
            table.setdefault(topic, {})[broker] = numbers
        elif topic in table:
            table[topic].pop(broker, None)
    return {topic: of_topic for topic, of_topic in table.items() if of_topic}


def of_all_buckets(slots: RouteSlots) -> dict[str, int]:
    found = [topics_of_bucket(slots, bucket) for bucket in range(DIGEST_BUCKETS)]
    assert sum(map(len, found)) == len({topic for one in found for topic in one})
    return {topic: digest for one in found for topic, digest in one.items()}


@given(steps)
def test_digests_are_those_of_the_tables(taken: list[Step]) -> None:
    slots, table = slots_after(taken), table_after(taken)
    expected = {topic: digest_of(of_topic.items()) for topic, of_topic in table.items()}
    assert of_all_buckets(slots) == expected
    assert {topic: topic_digest(slots, topic) for topic in expected} == expected
    assert topic_count(slots) == len(table)
    assert table or bucket_digests(slots) == bytes(8 * DIGEST_BUCKETS)
