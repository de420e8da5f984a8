"""Which consumer gets which queue: the client's two allocation strategies as column expressions.

A shape is array<array<int>>: for each distinct view, the read queues of each broker in name order, 0 where the view
lacks the broker. Only order and counts matter, so topics of the same shape share one computation. Every broker of a
shape has a queue in some view. Consumers, views and brokers are numbers from 0.
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
