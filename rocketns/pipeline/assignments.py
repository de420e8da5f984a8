"""Orphaned and doubly consumed queues over the assignments of views to consumers: the mean, and a worst one.

An assignment (``choice``) says which view each consumer sees: array<int>, consumer to view. All V**C of them but the V
constant ones, in which the consumers agree, are equally likely. Over ``cells`` of ``allocation``: a cell's queues have
the same owners and so the same fate.

The mean is exact for any V and C, with nothing enumerated. Under a random choice each consumer sees each view with
chance 1/V, independently, so the chance that nobody or exactly one gets a queue is a fold over its owners; what the
constant assignments add is known and taken off.

The worst assignment is exact while V**C is at most ASSIGNMENTS_MAX, by trying them all. Beyond that it is sought: every
consumer in turn takes the view that makes the expected loss greatest, those that have not had a turn still being
random, for SWEEPS rounds in both orders. Such a maximum is reached by some assignment, so the true one is at least that.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)

from rocketns.pipeline.allocation import below, cells, let, owned_queues, takers

ASSIGNMENTS_MAX = 4096
SWEEPS = 3
UNDECIDED = -1

# What is counted: queues that nobody gets, and queues that two or more get.
ORPHANED = "orphaned"
DUP = "dup"
LOSSES = (ORPHANED, DUP)


def model_outcome(shape: Column, c: Column, strategy: Column, ids_max: int) -> Column:
    """What ``_outcome`` gives, over all non-constant assignments of a shape's views to ``c`` consumers; the queues
    named are those of the worst assignment for each loss. Two views and two consumers at least."""
    views = F.size(shape)

    def of(queues: Column, cells_: Column) -> Column:
        means = [mean_loss(cells_, views, c, loss) for loss in LOSSES]
        worst = F.array(*[worst_choice(cells_, views, c, loss) for loss in LOSSES])
        return let(
            worst,
            lambda choices: _outcome(queues, cells_, means, [choices[0], choices[1]], is_capped(views, c), ids_max),
        )

    return _with_cells(owned_queues(shape, c, strategy), of)


def real_outcome(shape: Column, choice: Column, strategy: Column, ids_max: int) -> Column:
    """The same under the one assignment that was seen: mean and maximum are equal."""

    def of(queues: Column, cells_: Column) -> Column:
        actual = [actual_loss(cells_, choice, loss).cast("double") for loss in LOSSES]
        return _outcome(queues, cells_, actual, [choice, choice], F.lit(False), ids_max)

    return _with_cells(owned_queues(shape, F.size(choice), strategy), of)


def is_capped(views: Column, c: Column) -> Column:
    """Whether there are more assignments than are tried one by one."""
    return F.pow(views, c) > ASSIGNMENTS_MAX


def mean_loss(cells: Column, views: Column, c: Column, loss: str) -> Column:
    """Queues orphaned (or dup) in the mean over all non-constant assignments; ``views`` and ``c`` at least 2."""
    undecided = F.array_repeat(F.lit(UNDECIDED), c)
    everywhere = _sum(cells, lambda cell: _chance(cell.owners, undecided, loss) * cell.n)
    if loss == ORPHANED:
        # In a constant assignment a queue is without a consumer just where its view does not have it. None is dup.
        absent = _sum(cells, lambda cell: F.size(F.filter(cell.owners, lambda owner: owner < 0)) * cell.n)
        everywhere = everywhere - absent / F.pow(views, c)
    return everywhere / (1 - F.pow(views, 1 - c))


def actual_loss(cells: Column, choice: Column, loss: str) -> Column:
    """Queues (int) orphaned or dup under one assignment."""
    return F.aggregate(
        cells,
        F.lit(0),
        lambda sum_, cell: sum_ + F.when(is_lost(takers(cell.owners, choice), loss), cell.n).otherwise(0),
    )


def is_lost(consumers: Column, loss: str) -> Column:
    """Whether a queue with so many consumers counts."""
    return consumers == 0 if loss == ORPHANED else consumers > 1


def worst_choice(cells: Column, views: Column, c: Column, loss: str) -> Column:
    """A non-constant assignment with the greatest loss: of several the first in order, or where capped one found."""
    return F.when(is_capped(views, c), _sought(cells, views, c, loss)).otherwise(_tried(cells, views, c, loss))


def _tried(cells: Column, views: Column, c: Column, loss: str) -> Column:
    """Assignment number m has m's digits to the base ``views`` as its choice; equal digits are every step-th number."""
    count = F.pow(views, c).cast("int")
    step = ((count - 1) / (views - 1)).cast("int")

    def choice(number: Column) -> Column:
        places = F.transform(below(c), lambda i: F.pow(views, c - 1 - i))
        return F.transform(places, lambda place: (F.floor(number / place) % views).cast("int"))

    def result(number: Column) -> Column:
        return F.struct(
            let(choice(number), lambda chosen: actual_loss(cells, chosen, loss)).alias("lost"), (-number).alias("minus")
        )

    def best(steps: Column) -> Column:
        mixed = F.filter(below(count), lambda number: number % steps != 0)
        return F.array_max(F.transform(mixed, result))

    return let(best(step), lambda found: choice(-found.minus))


def _sought(cells: Column, views: Column, c: Column, loss: str) -> Column:
    """The better of the searches that start with the first and with the last consumer."""
    mine = F.transform(below(c), lambda i: F.filter(cells, lambda cell: F.array_contains(cell.owners, i)))
    forward = F.flatten(F.array_repeat(below(c), SWEEPS))

    def searched(turns: Column, cells_of: Column) -> Column:
        start = F.array_repeat(F.lit(UNDECIDED), c)
        return F.aggregate(turns, start, lambda choice, i: _turn(choice, i, F.get(cells_of, i), views, loss))

    def rated(choice: Column) -> Column:
        return let(choice, lambda found: F.struct(actual_loss(cells, found, loss).alias("lost"), found.alias("choice")))

    def both(cells_of: Column) -> Column:
        return F.greatest(rated(searched(forward, cells_of)), rated(searched(F.reverse(forward), cells_of)))

    return let(mine, lambda cells_of: both(cells_of).choice)


def _turn(choice: Column, consumer: Column, cells: Column, views: Column, loss: str) -> Column:
    """The choice after one consumer's turn. It may not join all the others on one view: that would be constant."""

    def with_view(view: Column) -> Column:
        return F.transform(choice, lambda chosen, i: F.when(i == consumer, view).otherwise(chosen))

    def allowed(view: Column) -> Column:
        return F.exists(with_view(view), lambda chosen: chosen != view)

    def expected(view: Column) -> Column:
        return let(with_view(view), lambda trial: _sum(cells, lambda cell: _chance(cell.owners, trial, loss) * cell.n))

    def better(best: Column, view: Column) -> Column:
        return let(
            F.struct(expected(view).alias("loss"), view.alias("view")),
            lambda tried: F.when(best.view.isNull() | (tried.loss > best.loss), tried).otherwise(best),
        )

    nothing = F.lit(None).cast("struct<loss: double, view: int>")
    best = F.aggregate(F.filter(below(views), allowed), nothing, better)
    return let(best.getField("view"), with_view)


def _chance(owners: Column, choice: Column, loss: str) -> Column:
    """The chance that a queue is lost where ``choice`` is UNDECIDED for some consumers.

    The fold counts in units of 1/V per owner, so that whole numbers stay whole and a dup of 0 is exactly 0.
    """
    views = F.size(owners)
    consumers = F.array_distinct(F.filter(owners, lambda owner: owner >= 0))
    start = F.struct(F.lit(1.0).alias("none"), F.lit(0.0).alias("one"))

    def got(consumer: Column) -> Column:
        having = F.size(F.filter(owners, lambda owner: owner == consumer))
        chosen = F.get(choice, consumer)
        sure = F.when(F.get(owners, chosen) == consumer, views).otherwise(0)
        return F.when(chosen == UNDECIDED, having).otherwise(sure)

    def fold(so_far: Column, share: Column) -> Column:
        rest = views - share
        return F.struct((so_far.none * rest).alias("none"), (so_far.one * rest + so_far.none * share).alias("one"))

    def chance(folded: Column) -> Column:
        whole = F.pow(views, F.size(consumers))
        return (folded.none if loss == ORPHANED else whole - folded.none - folded.one) / whole

    return let(F.aggregate(F.transform(consumers, got), start, fold), chance)


def _sum(cells: Column, of: Callable[[Column], Column]) -> Column:
    return F.aggregate(cells, F.lit(0.0), lambda sum_, cell: sum_ + of(cell))


def _with_cells(queues: Column, body: Callable[[Column, Column], Column]) -> Column:
    return let(queues, lambda owned: let(cells(owned), lambda of_owned: body(owned, of_owned)))


def _outcome(
    queues: Column, cells: Column, means: list[Column], choices: list[Column], capped: Column, ids_max: int
) -> Column:
    """struct<queues, capped, and for each loss its mean, its max, and its first queues as array<struct<b, q>>>."""
    fields = [F.size(queues).alias("queues"), capped.alias("capped")]
    for loss, mean, choice in zip(LOSSES, means, choices, strict=True):
        fields += [
            mean.alias(f"{loss}_mean"),
            actual_loss(cells, choice, loss).cast("double").alias(f"{loss}_max"),
            F.slice(_lost_queues(queues, choice, loss), 1, ids_max).alias(loss),
        ]
    return F.struct(*fields)


def _lost_queues(queues: Column, choice: Column, loss: str) -> Column:
    lost = F.filter(queues, lambda queue: is_lost(takers(queue.owners, choice), loss))
    return F.transform(lost, lambda queue: F.struct(queue.b.alias("b"), queue.q.alias("q")))
