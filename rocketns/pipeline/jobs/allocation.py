"""Which consumer gets which queue: the client's two allocation strategies.

A shape has for each distinct view the read queues of each broker in name order, 0 where the view lacks the broker. Only
order and counts matter, so topics of the same shape share one computation. Every broker of a shape has a queue in some
view. Consumers, views and brokers are numbers from 0.

Orphaned and doubly consumed queues over all assignments of views to consumers: the mean, and the worst case.

An assignment says which view each consumer sees. There are V**C. In V of them all consumers see the same view; these do
not count. The others are equally likely. Queues with the same owners are lost together, and count as one cell.

The mean is exact for any V and C, without enumeration. In a random assignment each consumer sees each view with
probability 1/V, independently. The probability that nobody, or exactly one, gets a queue is therefore a fold over the
queue's owners. The part of the V constant assignments is known and subtracted.

The worst assignment is exact while V**C is at most ASSIGNMENTS_MAX: all are tried. Beyond that the worst of as many
drawn ones is taken. It is an existing assignment, so the true maximum is at least as large.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice, product, repeat
from operator import mul
from typing import NamedTuple

AVERAGELY = "averagely"
CIRCLE = "circle"
STRATEGIES = (AVERAGELY, CIRCLE)
ASSIGNMENTS_MAX = 4096
# The first queues of the worst assignment that are named.
IDS_MAX = 64
# Results for owners and assignments that are remembered; shapes have most of them in common.
REMEMBERED = 4096

Queue = tuple[int, int]  # broker, queue id
Shape = Sequence[Sequence[int]]
Owners = tuple[int, ...]  # in each view the consumer that gets a queue, -1 where the view does not have it
Loss = tuple[float, float, Sequence[Queue]]  # mean, maximum, and the first queues of the worst assignment
# What is counted: queues without a consumer, and queues with two or more. The byte at a number of consumers says if a
# queue that has so many is lost.
ORPHANED, DUP = bytes([1]).ljust(256, b"\0"), bytes([0, 0]).ljust(256, b"\1")


class Outcome(NamedTuple):
    """``queues``: of all views together; ``capped``: not every assignment was tried. Lost queues on average and at
    most, and the first ones (broker, queue) of the worst assignment."""

    queues: int
    capped: bool
    orphaned_mean: float
    orphaned_max: float
    orphaned: Sequence[Queue]
    dup_mean: float
    dup_max: float
    dup: Sequence[Queue]


def model_outcome(shape: Shape, c: int, strategy: str) -> Outcome:
    """Over all non-constant assignments of a shape's views to ``c`` consumers; at least two views, two consumers."""
    owned = owned_queues(shape, c, strategy)
    cells, choices = Counter(owned), assignments(len(shape), c)

    def loss(lost: bytes) -> Loss:
        in_choices = zip(*(_lost_in(owners, len(shape), c, lost) for owners in cells), strict=True)
        losses = [sum(map(mul, cells.values(), in_choice)) for in_choice in in_choices]
        most = max(losses)
        worst = choices[losses.index(most)]
        return mean_loss(cells, len(shape), c, lost), float(most), lost_queues(shape, owned, worst, lost)

    return Outcome(len(owned), len(shape) ** c > ASSIGNMENTS_MAX, *loss(ORPHANED), *loss(DUP))


def real_outcome(shape: Shape, choice: Sequence[int], strategy: str) -> Outcome:
    """The same for the one real assignment: mean and maximum are equal."""
    owned = owned_queues(shape, len(choice), strategy)
    cells = Counter(owned)

    def loss(lost: bytes) -> Loss:
        found = float(sum(n for owners, n in cells.items() if lost[takers(owners, choice)]))
        return found, found, lost_queues(shape, owned, choice, lost)

    return Outcome(len(owned), False, *loss(ORPHANED), *loss(DUP))


def union(shape: Shape) -> Iterator[Queue]:
    """The queues of all views together, in order."""
    return ((b, q) for b, counts in enumerate(zip(*shape, strict=True)) for q in range(max(counts)))


def owned_queues(shape: Shape, c: int, strategy: str) -> list[Owners]:
    """Of each queue of ``union``."""
    views = []
    for counts in shape:
        ends, consumers = accumulate(counts), allocated(sum(counts), c, strategy)
        of_brokers = zip(counts, ends, map(max, zip(*shape, strict=True)), strict=True)
        views.append([
            consumer
            for count, end, most in of_brokers
            for consumer in (*consumers[end - count : end], *repeat(-1, most - count))
        ])  # fmt: skip
    return list(zip(*views, strict=True))


def allocated(n: int, c: int, strategy: str) -> Sequence[int]:
    """At each position of a view with ``n`` queues the number of the consumer, of ``c``, that gets the queue.

    The client computes the reverse (AllocateMessageQueueAveragely, …ByCircle): the positions of consumer i. With
    averagely, the first n % c consumers have one queue more than the others.
    """
    if strategy == CIRCLE:
        return [position % c for position in range(n)]
    each, more = divmod(n, c)
    return [consumer for consumer in range(c) for _ in range(each + (consumer < more))]


def takers(owners: Owners, choice: Sequence[int]) -> int:
    """How many consumers get a queue when consumer i sees view ``choice[i]``.

    A consumer sees one view, so two views in which the owner sees that view have two different owners.
    """
    return sum(consumer >= 0 and choice[consumer] == view for view, consumer in enumerate(owners))


def lost_queues(shape: Shape, owned: Sequence[Owners], choice: Sequence[int], lost: bytes) -> list[Queue]:
    """The first IDS_MAX of them."""
    are_lost = {owners for owners in set(owned) if lost[takers(owners, choice)]}
    found = (queue for queue, owners in zip(union(shape), owned, strict=True) if owners in are_lost)
    return list(islice(found, IDS_MAX))


@lru_cache(REMEMBERED)
def assignments(views: int, c: int) -> list[tuple[int, ...]]:
    """The non-constant ones; of more than ASSIGNMENTS_MAX as many that are drawn."""
    if views**c <= ASSIGNMENTS_MAX:
        return [choice for choice in product(range(views), repeat=c) if len(set(choice)) > 1]
    chance = random.Random(views * c)
    drawn = (tuple(chance.choices(range(views), k=c)) for _ in range(ASSIGNMENTS_MAX))
    return [choice for choice in drawn if len(set(choice)) > 1]


@lru_cache(REMEMBERED)
def _lost_in(owners: Owners, views: int, c: int, lost: bytes) -> bytes:
    """A byte for each assignment: 1 if a queue with these owners is lost in it, else 0."""
    return bytes(takers(owners, choice) for choice in assignments(views, c)).translate(lost)


def mean_loss(cells: Mapping[Owners, int], views: int, c: int, lost: bytes) -> float:
    """Mean number of lost queues over all non-constant assignments."""
    everywhere = sum(_chance(owners, lost) * n for owners, n in cells.items())
    # In a constant assignment a queue has no consumer exactly if the view lacks it, and no queue has two.
    absent = sum(owners.count(-1) * n for owners, n in cells.items()) if lost is ORPHANED else 0
    return float((everywhere - absent / views**c) / (1 - views ** (1 - c)))


@lru_cache(REMEMBERED)
def _chance(owners: Owners, lost: bytes) -> float:
    """The probability that a queue is lost if consumers choose at random. The fold over its distinct owners counts in
    units of 1/V, so integers stay exact and a dup of 0 is exactly 0."""
    none, one, every, views = 1, 0, 1, len(owners)
    for share in Counter(consumer for consumer in owners if consumer >= 0).values():
        none, one, every = none * (views - share), one * (views - share) + none * share, every * views
    return (none if lost is ORPHANED else every - none - one) / every
