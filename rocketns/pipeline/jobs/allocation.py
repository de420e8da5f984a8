"""Which consumer gets which queue: the client's two allocation strategies as column expressions.

A shape is array<array<int>>: for each distinct view, the read queues of each broker in name order, 0 where the view
lacks the broker. Only order and counts matter, so topics of the same shape share one computation. Every broker of a
shape has a queue in some view. Consumers, views and brokers are numbers from 0.

Orphaned and doubly consumed queues over all assignments of views to consumers: the mean, and the worst case.

An assignment (``choice``) says which view each consumer sees: array<int>, from consumer to view. There are V**C
assignments. In V of them all consumers see the same view; these do not count. The others are equally likely. The
functions work on ``cells`` of ``allocation``: all queues of a cell have the same owners, so they are lost together.

The mean is exact for any V and C, without enumeration. In a random assignment each consumer sees each view with
probability 1/V, independently. The probability that nobody, or exactly one, gets a queue is therefore a fold over the
queue's owners. The part of the V constant assignments is known and subtracted.

The worst assignment is exact while V**C is at most ASSIGNMENTS_MAX: all are tried. Beyond that the worst of as many
drawn ones is taken. It is an existing assignment, so the true maximum is at least as large.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)

AVERAGELY = "averagely"
CIRCLE = "circle"
STRATEGIES = (AVERAGELY, CIRCLE)

READ = 4  # the bit of ``p`` without which a consumer leaves a broker's queues out


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """``body(value)``, with ``value`` computed once even if the body uses it several times or in a lambda.

    Spark would otherwise insert the expression at each use, and compute it again for each element of a lambda.
    """
    return F.get(F.transform(F.array(value), body), F.lit(0))


def below(count: Column) -> Column:
    """The numbers 0 … count-1. Empty for 0, where ``sequence`` alone would count down."""
    return F.when(count > 0, F.sequence(F.lit(0), count - 1)).otherwise(F.array().cast("array<int>"))


def total(numbers: Column) -> Column:
    """The sum of an array of int."""
    return F.aggregate(numbers, F.lit(0), lambda sum_, number: sum_ + number)


def readable_brokers(view: Column) -> Column:
    """The entries of a view (array<struct<broker, r, w, p>>) that have queues to read."""
    return F.filter(view, lambda entry: (entry.p.bitwiseAND(READ) != 0) & (entry.r > 0))


def read_counts(view: Column, names: Column) -> Column:
    """array<int>: the read queues of each broker of ``names`` in a view, 0 where it has none."""
    pairs = F.transform(readable_brokers(view), lambda entry: F.struct(entry.broker, entry.r))
    return let(
        F.map_from_entries(pairs),
        lambda counts: F.transform(names, lambda name: F.coalesce(F.try_element_at(counts, name), F.lit(0))),
    )


def owner(position: Column, n: Column, c: Column, strategy: Column) -> Column:
    """The number of the consumer, of ``c``, that gets the queue at ``position`` of a view with ``n`` queues.

    The client computes the reverse (AllocateMessageQueueAveragely, …ByCircle): the positions of consumer i. With
    averagely, the first n % c consumers have one queue more than the others.
    """
    each, more = F.floor(n / c), n % c
    ahead = more * (each + 1)
    averagely = (
        F.when(n <= c, position)
        .when(position < ahead, F.floor(position / (each + 1)))
        .otherwise(more + F.floor((position - ahead) / each))
    )
    return F.when(strategy == CIRCLE, position % c).otherwise(averagely).cast("int")


def owned_queues(shape: Column, c: Column, strategy: Column) -> Column:
    """array<struct<b, q, owners>>: the queues of the union of a shape's views, by broker and queue id, each with the
    consumer that gets it in each view, -1 where the view does not have it."""
    views = F.transform(shape, lambda counts: F.struct(counts.alias("counts"), _starts(counts).alias("starts")))
    return let(views, lambda known: F.flatten(_by_broker(known, c, strategy)))


def cells(queues: Column) -> Column:
    """array<struct<owners, n>>: the distinct owners among ``owned_queues``, and how many queues have them."""
    return let(F.sort_array(F.transform(queues, lambda queue: queue.owners)), _run_lengths)


def takers(owners: Column, choice: Column) -> Column:
    """How many consumers get a queue when consumer i sees view ``choice[i]``.

    A consumer sees one view, so two views in which the owner sees that view have two different owners.
    """
    return F.size(F.filter(owners, lambda consumer, view: F.get(choice, consumer) == view))


def _starts(counts: Column) -> Column:
    """The position of each broker's first queue, and last the number of queues."""
    first = F.array(F.lit(0))
    return F.aggregate(counts, first, lambda ends, r: F.concat(ends, F.array(F.element_at(ends, -1) + r)))


def _by_broker(views: Column, c: Column, strategy: Column) -> Column:
    def queue(b: Column, q: Column) -> Column:
        owners = F.transform(views, lambda view: _owner_in(view, b, q, c, strategy))
        return F.struct(b.alias("b"), q.alias("q"), owners.alias("owners"))

    def queues(b: Column) -> Column:
        most = F.array_max(F.transform(views, lambda view: F.get(view.counts, b)))
        return F.transform(below(most), lambda q: queue(b, q))

    return F.transform(below(F.size(F.get(views, F.lit(0)).counts)), queues)


def _owner_in(view: Column, b: Column, q: Column, c: Column, strategy: Column) -> Column:
    position, n = F.get(view.starts, b) + q, F.element_at(view.starts, -1)
    return F.when(q < F.get(view.counts, b), owner(position, n, c, strategy)).otherwise(-1)


def _run_lengths(ordered: Column) -> Column:
    def starts_run(place: Column) -> Column:
        return (place == 0) | (F.get(ordered, place) != F.get(ordered, place - 1))

    def run(start: Column, end: Column) -> Column:
        return F.struct(F.get(ordered, start).alias("owners"), (end - start).alias("n"))

    def runs(starts: Column) -> Column:
        ends = F.concat(F.slice(starts, 2, F.size(starts)), F.array(F.size(ordered)))
        return F.zip_with(starts, ends, run)

    return let(F.filter(below(F.size(ordered)), starts_run), runs)


ASSIGNMENTS_MAX = 4096

# What is counted: queues without a consumer, and queues with two or more. The expressions below take the kind as a
# column: writing out one expression for each kind would double the plan at every level.
ORPHANED, DUP = 0, 1
LOSSES = (ORPHANED, DUP)


def model_outcome(shape: Column, c: Column, strategy: Column, ids_max: int) -> Column:
    """Over all non-constant assignments of a shape's views to ``c`` consumers (at least two views, two consumers):
    struct<queues, capped, losses: array<struct<mean, max, lost: array<struct<b, q>>>>>, losses in the order of LOSSES,
    ``lost`` the first queues of the worst assignment."""
    views = F.size(shape)

    def of(queues: Column, cells_: Column, loss: Column) -> Column:
        return let(
            worst_choice(cells_, views, c, loss),
            lambda choice: _loss(queues, cells_, mean_loss(cells_, views, c, loss), choice, loss, ids_max),
        )

    return _outcome(owned_queues(shape, c, strategy), is_capped(views, c), of)


def real_outcome(shape: Column, choice: Column, strategy: Column, ids_max: int) -> Column:
    """The same for the one real assignment: mean and maximum are equal."""

    def of(queues: Column, cells_: Column, loss: Column) -> Column:
        return _loss(queues, cells_, actual_loss(cells_, choice, loss).cast("double"), choice, loss, ids_max)

    return _outcome(owned_queues(shape, F.size(choice), strategy), F.lit(False), of)


def is_capped(views: Column, c: Column) -> Column:
    """Whether there are too many assignments to try each."""
    return F.pow(views, c) > ASSIGNMENTS_MAX


def mean_loss(cells: Column, views: Column, c: Column, loss: Column) -> Column:
    """Mean number of lost queues over all non-constant assignments."""
    everywhere = _sum(cells, lambda cell: _chance(cell.owners, loss) * cell.n)
    # In a constant assignment a queue has no consumer exactly if the view lacks it, and no queue has two.
    absent = _sum(cells, lambda cell: F.size(F.filter(cell.owners, lambda owner: owner < 0)) * cell.n)
    constant = F.when(loss == ORPHANED, absent / F.pow(views, c)).otherwise(0.0)
    return (everywhere - constant) / (1 - F.pow(views, 1 - c))


def actual_loss(cells: Column, choice: Column, loss: Column) -> Column:
    """Queues (int) lost under one assignment."""
    return F.aggregate(
        cells,
        F.lit(0),
        lambda sum_, cell: sum_ + F.when(is_lost(takers(cell.owners, choice), loss), cell.n).otherwise(0),
    )


def is_lost(consumers: Column, loss: Column) -> Column:
    """Whether a queue with this number of consumers counts as lost."""
    return F.when(loss == ORPHANED, consumers == 0).otherwise(consumers > 1)


def worst_choice(cells: Column, views: Column, c: Column, loss: Column) -> Column:
    """The first non-constant assignment with the greatest loss; if capped, of those that are drawn. Otherwise the
    digits of m to the base ``views`` are the choice of assignment m."""
    capped = is_capped(views, c)
    count = F.when(capped, ASSIGNMENTS_MAX).otherwise(F.pow(views, c)).cast("int")

    def choice(number: Column) -> Column:
        def view(i: Column) -> Column:
            drawn = F.pmod(F.xxhash64(number, i), views)
            return F.when(capped, drawn).otherwise(F.floor(number / F.pow(views, c - 1 - i)) % views).cast("int")

        return F.transform(below(c), view)

    def rated(chosen: Column, number: Column) -> Column:
        lost = F.when(F.size(F.array_distinct(chosen)) > 1, actual_loss(cells, chosen, loss)).otherwise(-1)
        return F.struct(lost.alias("lost"), (-number).alias("minus"))

    best = F.array_max(F.transform(below(count), lambda number: let(choice(number), lambda one: rated(one, number))))
    return let(best, lambda found: choice(-found.minus))


def _chance(owners: Column, loss: Column) -> Column:
    """The probability that a queue is lost if consumers choose at random. The fold over its distinct owners counts in
    units of 1/V, so integers stay exact and a dup of 0 is exactly 0."""
    views = F.size(owners)
    start = F.struct(F.lit(1.0).alias("none"), F.lit(0.0).alias("one"), F.lit(1.0).alias("all"))

    def got(consumer: Column) -> Column:
        return F.size(F.filter(owners, lambda owner: owner == consumer))

    def fold(so_far: Column, share: Column) -> Column:
        rest = views - share
        one = so_far.one * rest + so_far.none * share
        return F.struct((so_far.none * rest).alias("none"), one.alias("one"), (so_far.all * views).alias("all"))

    def chance(end: Column) -> Column:
        return F.when(loss == ORPHANED, end.none).otherwise(end.all - end.none - end.one) / end.all

    consumers = F.array_distinct(F.filter(owners, lambda owner: owner >= 0))
    return F.aggregate(F.transform(consumers, got), start, fold, chance)


def _sum(cells: Column, of: Callable[[Column], Column]) -> Column:
    return F.aggregate(cells, F.lit(0.0), lambda sum_, cell: sum_ + of(cell))


def _outcome(queues: Column, capped: Column, of: Callable[[Column, Column, Column], Column]) -> Column:
    losses = F.array(*[F.lit(loss) for loss in LOSSES])

    def outcome(queues: Column, cells_: Column) -> Column:
        each = F.transform(losses, lambda loss: of(queues, cells_, loss))
        return F.struct(F.size(queues).alias("queues"), capped.alias("capped"), each.alias("losses"))

    return let(queues, lambda owned: let(cells(owned), lambda cells_: outcome(owned, cells_)))


def _loss(queues: Column, cells: Column, mean: Column, choice: Column, loss: Column, ids_max: int) -> Column:
    lost = F.filter(queues, lambda queue: is_lost(takers(queue.owners, choice), loss))
    named = F.transform(F.slice(lost, 1, ids_max), lambda queue: F.struct(queue.b.alias("b"), queue.q.alias("q")))
    most = actual_loss(cells, choice, loss).cast("double")
    return F.struct(mean.alias("mean"), most.alias("max"), named.alias("lost"))
