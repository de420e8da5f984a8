"""The digests that the route slots keep: they depend on the routes and on nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from rocketns._fast.routes.digests import bucket_digests, topic_count, topic_digest, topics_of_bucket
from rocketns._fast.routes.routes import RouteSlots
from rocketns.fleet.digests import digest_of
from rocketns.protocol.body import bodies
from rocketns.protocol.codes import DIGEST_BUCKETS

Queues = tuple[int, int, int, int]
# (broker, topic): queues, or None to delete
Step = tuple[str, str, Queues | None]
Table = dict[str, dict[str, Queues]]

brokers, topics = st.sampled_from("abc"), st.sampled_from(["T", "U", "Ü", "a topic with a longer name"])
queues = st.tuples(st.sampled_from([4, 8]), st.just(8), st.sampled_from([4, 6]), st.just(0))
steps = st.lists(st.tuples(brokers, topics, st.none() | queues), max_size=30)


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
    return {topic: queues for topic, queues in table.items() if queues}


def of_all_buckets(slots: RouteSlots) -> dict[str, int]:
    found = [topics_of_bucket(slots, bucket) for bucket in range(DIGEST_BUCKETS)]
    assert sum(map(len, found)) == len({topic for one in found for topic in one})
    return {topic: digest for one in found for topic, digest in one.items()}


@settings(max_examples=100)
@given(steps)
def test_they_are_those_of_the_tables(taken: list[Step]) -> None:
    slots, table = slots_after(taken), table_after(taken)
    expected = {topic: digest_of(queues.items()) for topic, queues in table.items()}
    assert of_all_buckets(slots) == expected
    assert {topic: topic_digest(slots, topic) for topic in expected} == expected
    assert topic_count(slots) == len(table)


@settings(max_examples=100)
@given(steps, st.randoms())
def test_the_way_there_does_not_matter(taken: list[Step], random: st.DataObject) -> None:
    shown = [
        (broker, topic, numbers) for topic, queues in table_after(taken).items() for broker, numbers in queues.items()
    ]
    random.shuffle(shown)  # type: ignore[attr-defined]
    assert bucket_digests(slots_after(taken)) == bucket_digests(slots_after(shown))


@settings(max_examples=100)
@given(steps, steps)
def test_other_routes_have_another_digest(some: list[Step], others: list[Step]) -> None:
    same = table_after(some) == table_after(others)
    assert (bucket_digests(slots_after(some)) == bucket_digests(slots_after(others))) is same


def test_without_topics_all_are_zero() -> None:
    slots = slots_after([("a", "T", (4, 4, 6, 0)), ("a", "T", None)])
    assert bucket_digests(slots) == bytes(8 * DIGEST_BUCKETS)
    assert (topic_digest(slots, "T"), topics_of_bucket(slots, 0), topic_count(slots)) == (None, {}, 0)


def test_only_the_bucket_of_a_topic_changes() -> None:
    before = slots_after(("a", f"T{number}", (4, 4, 6, 0)) for number in range(1000))
    numbers = bucket_digests(before)
    before.put_topics("a", [("T7", None, (4, 4, 4, 0))])
    changed = [place for place in range(DIGEST_BUCKETS)
               if numbers[8 * place : 8 * place + 8] != bucket_digests(before)[8 * place : 8 * place + 8]]  # fmt: skip
    assert len(changed) == 1
    assert "T7" in topics_of_bucket(before, changed[0])


def test_topics_are_spread_over_the_buckets() -> None:
    slots = slots_after(("a", f"topic-{number}", (4, 4, 6, 0)) for number in range(2560))
    assert max(len(topics_of_bucket(slots, bucket)) for bucket in range(DIGEST_BUCKETS)) < 40


def test_one_topic_twice_in_one_registration() -> None:
    slots = RouteSlots(bodies.queue_data)
    slots.put_topics("a", [("T", None, (4, 4, 6, 0)), ("T", None, (8, 8, 6, 0)), ("T", None, (8, 8, 6, 0))])
    assert topic_digest(slots, "T") == digest_of([("a", (8, 8, 6, 0))])
