"""Who gets which queue, and what is lost over the assignments, against the client's own rules in plain Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, IntegerType

from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.jobs.queues.allocation import STRATEGIES, owner
from rocketns.pipeline.jobs.queues.assignments import ASSIGNMENTS_MAX, model_outcome, real_outcome
from tests.pipeline.draws import seeds
from tests.pipeline.jobs.queues import javaallocation as java

BOTH_AND_A = ((4, 0), (4, 4))  # views, sorted: broker-a alone is view 0, both brokers are view 1
A_ONLY, BOTH = 0, 1
VIEW = ArrayType(IntegerType())
SHAPE = ArrayType(VIEW)
Case = tuple[java.Shape, int, str]  # shape, consumers, strategy


def modelled(spark: SparkSession, cases: Sequence[Case]) -> list[Any]:
    """The outcome of each case, in the order of the cases."""
    numbered = [(number, *case) for number, case in enumerate(cases)]
    frame = frame_of(spark, numbered, columns("number:int shape:shape c:int strategy:string", shape=SHAPE))
    outcome = model_outcome(F.col("shape"), F.col("c"), F.col("strategy"), 64)
    rows = frame.select("number", outcome.alias("outcome")).collect()
    return [row.outcome for row in sorted(rows, key=lambda row: row.number)]


def random_shape(chance: random.Random, views: int, sizes: Sequence[int] = (1, 2, 3, 4, 8)) -> java.Shape:
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


def test_each_queue_has_the_owner_that_the_client_gives_it(spark: SparkSession) -> None:
    sizes = [(n, c, strategy) for n in range(26) for c in range(1, 13) for strategy in STRATEGIES]
    frame = frame_of(spark, sizes, columns("n:int c:int strategy:string")).where("n > 0")
    owners = F.transform(
        F.sequence(F.lit(0), F.col("n") - 1), lambda at: owner(at, F.col("n"), F.col("c"), F.col("strategy"))
    )
    for n, c, strategy, found in frame.select("n", "c", "strategy", owners).collect():
        queues = java.queues_of([n])
        given_to = {queue: i for i in range(c) for queue in java.STRATEGIES[strategy](i, queues, c)}
        assert found == [given_to[queue] for queue in queues], (n, c, strategy)


@given(st.integers(0, 300), st.integers(1, 70), st.sampled_from(STRATEGIES))
def test_within_one_view_every_queue_has_one_consumer(n: int, c: int, strategy: str) -> None:
    """What the owner of a queue rests on, in the plain version itself."""
    got = [queue for i in range(c) for queue in java.STRATEGIES[strategy](i, java.queues_of([n]), c)]
    assert sorted(got) == java.queues_of([n])


def test_the_articles_example_loses_the_queues_it_names(spark: SparkSession) -> None:
    a, b = [(0, q) for q in range(4)], [(1, q) for q in range(4)]
    expected = {
        ("averagely", BOTH, A_ONLY): (b, a[2:]),
        ("averagely", A_ONLY, BOTH): (a[2:], []),
        ("circle", BOTH, A_ONLY): ([b[1], b[3]], []),
        ("circle", A_ONLY, BOTH): ([b[0], b[2]], []),
    }
    cases = [(strategy, BOTH_AND_A, list(choice)) for strategy, *choice in expected]
    frame = frame_of(spark, cases, columns("strategy:string shape:shape choice:view", shape=SHAPE, view=VIEW))
    outcome = real_outcome(F.col("shape"), F.col("choice"), F.col("strategy"), 64)
    found = {
        (row.strategy, *row.choice): tuple([tuple(queue) for queue in loss.lost] for loss in row.outcome.losses)
        for row in frame.select("strategy", "choice", outcome.alias("outcome")).collect()
    }
    assert found == expected
    for (strategy, *choice), lost in expected.items():
        assert java.outcome(BOTH_AND_A, choice, strategy) == lost


# c, strategy -> orphaned mean and max, dup mean and max
WORKED_EXAMPLE = {
    (2, "averagely"): (3, 4, 1, 2),
    (2, "circle"): (2, 2, 0, 0),
    (3, "averagely"): (Fraction(8, 3), 4, Fraction(2, 3), 1),
    (3, "circle"): (2, 3, 0, 0),
    (4, "averagely"): (Fraction(20, 7), 5, Fraction(6, 7), 2),
}


def test_the_worked_example_has_its_mean_and_maximum(spark: SparkSession) -> None:
    cases = [(BOTH_AND_A, c, strategy) for c, strategy in WORKED_EXAMPLE]
    for case, outcome, expected in zip(cases, modelled(spark, cases), WORKED_EXAMPLE.values(), strict=True):
        assert figures(outcome) == pytest.approx([float(value) for value in expected], rel=1e-15, abs=0), case
        assert java.model(*case) == expected, case


@pytest.mark.parametrize("seed", seeds(1))
def test_mean_and_maximum_are_those_of_trying_every_assignment(spark: SparkSession, seed: int) -> None:
    cases = random_cases(seed, 60)
    for case, outcome in zip(cases, modelled(spark, cases), strict=True):
        expected = java.model(*case)
        assert not outcome.capped
        assert figures(outcome) == pytest.approx([float(value) for value in expected], rel=1e-12), case
        assert outcome.queues == len({queue for view in case[0] for queue in java.queues_of(view)})
        for loss, most in zip(outcome.losses, (expected.orphaned_max, expected.dup_max), strict=True):
            assert len(loss.lost) == min(most, 64), case


def test_allocation_by_circle_never_doubles_if_counts_are_multiples_of_the_group(spark: SparkSession) -> None:
    chance = random.Random(5)
    sized = [(chance.choice((2, 3, 4)), chance.choice((2, 3))) for _ in range(40)]
    cases = [(random_shape(chance, views, (c, 2 * c, 3 * c)), c, "circle") for c, views in sized]
    assert all(outcome.losses[1].max == outcome.losses[1].mean == 0 for outcome in modelled(spark, cases))


def test_beyond_the_limit_the_mean_is_exact_and_the_maximum_is_one_that_is_reached(spark: SparkSession) -> None:
    chance = random.Random(6)
    cases = [(random_shape(chance, 2), 13, STRATEGIES[i % 2]) for i in range(8)]
    cases += [(random_shape(chance, 3), 8, STRATEGIES[i % 2]) for i in range(4)]
    for case, outcome in zip(cases, modelled(spark, cases), strict=True):
        expected = java.model(*case)
        assert len(case[0]) ** case[1] > ASSIGNMENTS_MAX
        assert outcome.capped
        for loss, mean, most in zip(outcome.losses, expected[::2], expected[1::2], strict=True):
            assert loss.mean == pytest.approx(float(mean), rel=1e-12), case
            assert 0.75 * most <= loss.max <= most, case
            assert loss.max >= loss.mean, case


def test_a_thousand_queues_and_64_consumers_are_counted(spark: SparkSession) -> None:
    """125 brokers of 8 queues, one of them missing at one name server. By circle, 8 queues fewer move every later queue
    by 8 consumers; a queue before the gap has one owner. So what is lost can be said by hand."""
    full, at = [8] * 125, 60
    less = [r if i != at else 0 for i, r in enumerate(full)]
    (outcome,) = modelled(spark, [([less, full], 64, "circle")])
    orphaned, dup = outcome.losses
    before, moved, missing = 8 * at, 8 * (124 - at), 8
    constant = Fraction(2, 2**64)
    share = 1 - constant
    assert (outcome.queues, outcome.capped) == (before + moved + missing, True)
    assert dup.mean == pytest.approx(float(moved * Fraction(1, 4) / share))
    assert orphaned.mean == pytest.approx(
        float((moved * Fraction(1, 4) + missing * (Fraction(1, 2) - constant / 2)) / share)
    )
    assert moved // 4 < dup.max <= moved
    assert len(orphaned.lost) == 64


def figures(outcome: Any) -> list[float]:
    """Mean and maximum of the orphaned, then of the dup."""
    return [value for loss in outcome.losses for value in (loss.mean, loss.max)]
