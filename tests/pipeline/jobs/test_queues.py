"""What differences do to the queues of consumers and producers, against the rules of the client in plain Python."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import GROUP_MEMBERS, TOPIC_SEGMENTS
from rocketns.pipeline.jobs.allocation import ASSIGNMENTS_MAX, STRATEGIES, Outcome, model_outcome
from rocketns.pipeline.jobs.impact import group_members, imbalance, impact
from rocketns.pipeline.jobs.tallies import callers
from tests.pipeline.frames import cut, rows, seeds
from tests.pipeline.journals import SECOND, Journal, events_frame

Queue = tuple[int, int]  # broker's place in name order, queue id; sorted as MessageQueue.compareTo does
Shape = Sequence[Sequence[int]]  # for each view the read queues of each broker
Allocate = Callable[[int, Sequence[Queue], int], list[Queue]]


def averagely(index: int, mq_all: Sequence[Queue], cid_size: int) -> list[Queue]:
    mod = len(mq_all) % cid_size
    average_size = (
        1
        if len(mq_all) <= cid_size
        else (len(mq_all) // cid_size + 1 if mod > 0 and index < mod else len(mq_all) // cid_size)
    )
    start_index = index * average_size if mod > 0 and index < mod else index * average_size + mod
    range_ = min(average_size, len(mq_all) - start_index)
    return [mq_all[start_index + i] for i in range(range_)]


def circle(index: int, mq_all: Sequence[Queue], cid_size: int) -> list[Queue]:
    return [mq_all[i] for i in range(index, len(mq_all)) if i % cid_size == index]


ALLOCATE: dict[str, Allocate] = {"averagely": averagely, "circle": circle}


def queues_of(view: Sequence[int]) -> list[Queue]:
    return [(broker, q) for broker, count in enumerate(view) for q in range(count)]


class Lost(NamedTuple):
    orphaned: list[Queue]
    dup: list[Queue]


class Model(NamedTuple):
    orphaned_mean: Fraction
    orphaned_max: int
    dup_mean: Fraction
    dup_max: int


def every_assignment(shape: Shape, c: int, strategy: str) -> Model:
    """Over every non-constant assignment."""
    allocated = _allocated(shape, c, strategy)
    outcomes = [_lost(shape, allocated, choice) for choice in non_constant(len(shape), c)]
    orphaned, dup = ([len(getattr(of_choice, name)) for of_choice in outcomes] for name in Lost._fields)
    return Model(Fraction(sum(orphaned), len(orphaned)), max(orphaned), Fraction(sum(dup), len(dup)), max(dup))


def non_constant(views: int, c: int) -> Iterator[tuple[int, ...]]:
    return (choice for choice in itertools.product(range(views), repeat=c) if len(set(choice)) > 1)


def _allocated(shape: Shape, c: int, strategy: str) -> list[list[list[Queue]]]:
    """view, consumer -> queues."""
    return [[ALLOCATE[strategy](i, queues_of(view), c) for i in range(c)] for view in shape]


def _lost(shape: Shape, allocated: Sequence[Sequence[Sequence[Queue]]], choice: Sequence[int]) -> Lost:
    union = sorted({queue for view in shape for queue in queues_of(view)})
    got = Counter(queue for i, view in enumerate(choice) for queue in allocated[view][i])
    return Lost([queue for queue in union if got[queue] == 0], [queue for queue in union if got[queue] > 1])


Case = tuple[Shape, int, str]  # shape, consumers, strategy


def random_shape(chance: random.Random, views: int, sizes: Sequence[int] = (1, 2, 3, 4, 8)) -> Shape:
    """Distinct views of a few brokers, in order; every broker is in one of them."""
    while True:
        full = [chance.choice(sizes) for _ in range(chance.randint(1, 4))]
        drawn = {tuple(chance.choice((r, r, 0, chance.choice(sizes))) for r in full) for _ in range(views)}
        if len(drawn) == views and all(map(any, zip(*drawn, strict=True))):
            return sorted(drawn)


def random_cases(seed: int, count: int) -> list[Case]:
    """At most 256 assignments each, so that the plain version is quick."""
    chance, cases = random.Random(seed), []
    for _ in range(count):
        views = chance.choice((2, 2, 2, 3, 4))
        c = chance.randint(2, {2: 8, 3: 5, 4: 4}[views])
        cases.append((random_shape(chance, views), c, chance.choice(STRATEGIES)))
    return cases


@pytest.mark.parametrize("seed", seeds(1))
def test_mean_and_maximum_are_those_of_trying_every_assignment(seed: int) -> None:
    for case in random_cases(seed, 60):
        outcome, expected = model_outcome(*case), every_assignment(*case)
        assert not outcome.capped
        assert figures(outcome) == pytest.approx([float(value) for value in expected], rel=1e-12), case
        assert outcome.queues == len({queue for view in case[0] for queue in queues_of(view)})
        for lost, most in ((outcome.orphaned, expected.orphaned_max), (outcome.dup, expected.dup_max)):
            assert len(lost) == min(most, 64), case


def test_beyond_the_limit_the_mean_is_exact_and_the_maximum_is_one_that_is_reached() -> None:
    chance = random.Random(6)
    cases = [(random_shape(chance, 2), 13, STRATEGIES[i % 2]) for i in range(2)]
    cases += [(random_shape(chance, 3), 8, STRATEGIES[i % 2]) for i in range(2)]
    for case in cases:
        outcome, expected = model_outcome(*case), every_assignment(*case)
        assert len(case[0]) ** case[1] > ASSIGNMENTS_MAX
        assert outcome.capped
        mean, most = figures(outcome)[::2], figures(outcome)[1::2]
        assert mean == pytest.approx([float(value) for value in expected[::2]], rel=1e-12), case
        for drawn, exact, average in zip(most, expected[1::2], mean, strict=True):
            assert 0.75 * exact <= drawn <= exact, case
            assert drawn >= average, case


def figures(outcome: Outcome) -> list[float]:
    """Mean and maximum of the orphaned, then of the dup."""
    return [outcome.orphaned_mean, outcome.orphaned_max, outcome.dup_mean, outcome.dup_max]


# Topic segments: views as {"n1": {"a": 4, "b": (4, 8, 6)}}.
View = Mapping[str, int | tuple[int, int, int]]  # broker -> r, w, p; a number stands for (number, number, 6)
Segment = tuple[str, int, int, list[tuple[str, list[tuple[str, int, int, int]]]]]


def segment(views: Mapping[str, View], topic: str = "T", start_s: int = 0, end_s: int = 10) -> Segment:
    known = [(ns, [_entry(broker, view[broker]) for broker in sorted(view)]) for ns, view in sorted(views.items())]
    return topic, start_s * SECOND, end_s * SECOND, known


def segments_frame(spark: SparkSession, segments: Sequence[Segment]) -> DataFrame:
    return frame_of(spark, segments, TOPIC_SEGMENTS)


def _entry(broker: str, value: Any) -> tuple[str, int, int, int]:
    r, w, p = value if isinstance(value, tuple) else (value, value, 6)
    return broker, r, w, p


BOTH, A = {"broker-a": 4, "broker-b": 4}, {"broker-a": 4}


def impact_of(spark: SparkSession, segments: Sequence[Segment], groups: Sequence[int] = (2,)) -> dict[Any, Any]:
    """(topic, strategy, c) -> row."""
    nobody = frame_of(spark, [], GROUP_MEMBERS)
    found = impact(segments_frame(spark, segments), groups, cut, nobody).collect()
    return {(row.topic, row.strategy, row.c): row for row in found}


# What the name servers show -> whether there is something to report
DIFFERENT: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "all equal": ({"n1": BOTH, "n2": BOTH}, False),
    "one has no route at all": ({"n1": BOTH, "n2": {}}, False),
    "write queues and permission to write differ": ({"n1": {"broker-a": 4}, "n2": {"broker-a": (4, 8, 4)}}, False),
    "a broker without read queues more": ({"n1": A, "n2": {"broker-a": 4, "broker-b": (0, 4, 6)}}, False),
    "one shows nothing readable": ({"n1": A, "n2": {"broker-a": (4, 4, 2)}}, True),
    "more read queues than are counted": ({"n1": A, "n2": dict.fromkeys(BOTH, 2**31 - 1)}, False),
    "read queues differ": ({"n1": A, "n2": {"broker-a": 5}}, True),
}


def test_what_consumers_lose_and_do_twice_where_views_differ(spark: SparkSession) -> None:
    window = segment({"n1": BOTH, "n2": A}, "order_topic", 185, 302)
    others = [segment(views, name) for name, (views, _) in DIFFERENT.items()]
    told = impact_of(spark, [window, *others], (2, 3, 4))
    averagely = told["order_topic", "averagely", 2]
    assert (averagely.orphaned_qs_mean, averagely.orphaned_qs_max) == (351, 468)
    assert (averagely.dup_qs_mean, averagely.dup_qs_max) == (117, 234)
    assert averagely.orphaned_ids == [f"broker-b:{q}" for q in range(4)]
    assert averagely.dup_ids == ["broker-a:2", "broker-a:3"]
    assert (averagely.queues, averagely.assignments, averagely.group, averagely.capped) == (8, "model", None, False)
    assert {topic for topic, _, _ in told} == {"order_topic", *(name for name, (_, told) in DIFFERENT.items() if told)}
    # The consumer that reads nothing leaves its half to nobody.
    assert told["one shows nothing readable", "averagely", 2].orphaned_mean == 2


TWO: dict[str, View] = {"n1": BOTH, "n2": A}
# Of a segment whose topic names the case: what the name servers show, when it is, and who asks whom from when to when.
Asking = tuple[str, str, int, int]
REAL: Mapping[str, tuple[Mapping[str, View], int, int, list[Asking]]] = {
    "addresses": (TWO | {"n3": A}, 100, 110, [("10.0.0.1:5", "n1", 0, 999), ("10.0.0.2:5", "n3", 0, 999)]),
    "agreed": (TWO, 0, 10, [("10.0.0.1:5", "n2", 0, 999)]),
    "no view": (TWO | {"n3": {}}, 0, 10, [("10.0.0.1:5", "n1", 0, 999), ("10.0.0.2:5", "n3", 0, 999)]),
    "not compared": (TWO | {"n3": {}}, 0, 10, [("10.0.0.1:5", "n1", 0, 999), ("10.0.0.2:5", "n9", 0, 999)]),
    "in the middle": (
        TWO, 100, 200, [("10.0.0.1:5", "n1", 0, 150), ("10.0.0.1:6", "n2", 150, 999), ("10.0.0.2:6", "n2", 150, 999)],
    ),
}  # fmt: skip


def test_real_assignments_follow_the_members_addresses(spark: SparkSession) -> None:
    segments = [segment(views, case, start, end) for case, (views, start, end, _) in REAL.items()]
    members = [
        ("g", case, ns, client, t1 * SECOND, t2 * SECOND)
        for case, (*_, asking) in REAL.items()
        for client, ns, t1, t2 in asking
    ]
    found = impact(segments_frame(spark, segments), [], cut, frame_of(spark, members, GROUP_MEMBERS)).collect()
    real = {(row.topic, row.strategy): row for row in found}
    assert {case for case, _ in real} == {"addresses", "agreed", "in the middle"}, "else a member's view is not known"
    averagely, circle = real["addresses", "averagely"], real["addresses", "circle"]
    assert (averagely.assignments, averagely.group, averagely.c, averagely.capped) == ("real", "g", 2, False)
    assert averagely.orphaned_ids == [f"broker-b:{q}" for q in range(4)]
    assert averagely.dup_ids == ["broker-a:2", "broker-a:3"]
    assert (averagely.orphaned_mean, averagely.orphaned_max, averagely.dup_qs_mean) == (4, 4, 20)
    assert (circle.orphaned_ids, circle.dup_ids) == (["broker-b:1", "broker-b:3"], [])
    # Members that agree on the smaller view leave the rest to nobody.
    agreed = [real["agreed", strategy] for strategy in STRATEGIES]
    assert [(row.c, row.orphaned_mean, row.dup_mean) for row in agreed] == [(1, 4, 0)] * 2
    # A member counts where it is in the middle of the segment.
    assert {real["in the middle", strategy].c for strategy in STRATEGIES} == {2}


def test_a_member_is_a_client_that_asks_for_the_topic_and_its_groups_retry_topic(spark: SparkSession) -> None:
    journal = Journal(0)
    for second in (60, 120):
        for client, topic in [
            ("10.0.0.1:5", "T"), ("10.0.0.1:5", "%RETRY%g"), ("10.0.0.2:5", "T"), ("*", "T"), ("*", "%RETRY%g"),
        ]:  # fmt: skip
            journal.lookup(second * SECOND, topic, 1, client=client, iv_ms=60_000)
    found = group_members(callers(events_frame(spark, {"n1": journal.records}), Observation(0, 2**60))).collect()
    assert [tuple(row) for row in found] == [("g", "T", "n1", "10.0.0.1:5", 0, 150 * SECOND)]


def test_how_unevenly_producers_write(spark: SparkSession) -> None:
    """A view without write queues has no share and is named. A broker counts only while it has a master: n2 has a
    replica of "later" all the time, and its master from the fourth second on."""
    read_only = {"n1": {"broker-a": (4, 4, 4)}, "n2": {"broker-a": (2, 2, 4)}}
    late = {"soon": 4, "later": 4}
    windows = segments_frame(spark, [
        segment({"n1": BOTH, "n2": {"broker-a": (4, 4, 4)}, "n3": {}}, "split"), segment(read_only, "none"),
        segment({"n1": {"broker-a": 4, "broker-b": 12}, "n2": BOTH}, "larger"),
        segment({"n1": late, "n2": late}, "late"),
    ])  # fmt: skip
    lives = [(ns, broker, 0, 0) for ns in ("n1", "n2", "n3") for broker in BOTH]
    lives += [("n1", broker, 0, 0) for broker in late]
    lives += [("n2", "soon", 0, 0), ("n2", "later", 1, 0), ("n2", "later", 0, 4)]
    members = [
        {"ns": ns, "broker": broker, "bid": bid, "t1": t1 * SECOND, "t2": 100 * SECOND} for ns, broker, bid, t1 in lives
    ]
    nobody = frame_of(spark, [], GROUP_MEMBERS)
    found = [(row[0], row[1] // SECOND, *row[2:]) for row in rows(
        imbalance(windows, members, nobody), "topic", "t1", "broker", "share", "fair", "tvd", "peak", "no_share_ns"
    )]  # fmt: skip
    assert [row for row in found if row[0] in ("split", "none")] == [
        ("none", 0, "broker-a", None, None, None, None, ["n1", "n2"]),
        ("split", 0, "broker-a", 0.5, 0.5, 0, 1, ["n2"]),
        ("split", 0, "broker-b", 0.5, 0.5, 0, 1, ["n2"]),
    ]
    assert [row[:5] for row in found if row[0] == "larger"] == [
        ("larger", 0, "broker-a", 0.375, 0.25), ("larger", 0, "broker-b", 0.625, 0.75),
    ]  # fmt: skip
    assert sorted(row[1:4] for row in found if row[0] == "late") == [
        (0, "later", 0.25), (0, "soon", 0.75), (4, "later", 0.5), (4, "soon", 0.5),
    ]  # fmt: skip
