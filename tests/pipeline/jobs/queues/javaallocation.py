"""The client's allocation in plain Python, line by line after AllocateMessageQueueAveragely and ...ByCircle of RocketMQ
5.5.0, and from it the outcome of every assignment of views to consumers, by trying them all."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

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


STRATEGIES: dict[str, Allocate] = {"averagely": averagely, "circle": circle}


def queues_of(view: Sequence[int]) -> list[Queue]:
    return [(broker, q) for broker, count in enumerate(view) for q in range(count)]


class Outcome(NamedTuple):
    orphaned: list[Queue]
    dup: list[Queue]


def outcome(shape: Shape, choice: Sequence[int], strategy: str) -> Outcome:
    """What nobody gets and what several get when consumer i sees view choice[i]."""
    return _outcome(shape, _allocated(shape, len(choice), strategy), choice)


class Model(NamedTuple):
    orphaned_mean: Fraction
    orphaned_max: int
    dup_mean: Fraction
    dup_max: int


def model(shape: Shape, c: int, strategy: str) -> Model:
    """Over every non-constant assignment."""
    allocated = _allocated(shape, c, strategy)
    outcomes = [_outcome(shape, allocated, choice) for choice in non_constant(len(shape), c)]
    orphaned, dup = ([len(getattr(outcome, name)) for outcome in outcomes] for name in Outcome._fields)
    return Model(Fraction(sum(orphaned), len(orphaned)), max(orphaned), Fraction(sum(dup), len(dup)), max(dup))


def non_constant(views: int, c: int) -> Iterator[tuple[int, ...]]:
    return (choice for choice in itertools.product(range(views), repeat=c) if len(set(choice)) > 1)


def _allocated(shape: Shape, c: int, strategy: str) -> list[list[list[Queue]]]:
    """view, consumer -> queues."""
    return [[STRATEGIES[strategy](i, queues_of(view), c) for i in range(c)] for view in shape]


def _outcome(shape: Shape, allocated: Sequence[Sequence[Sequence[Queue]]], choice: Sequence[int]) -> Outcome:
    union = sorted({queue for view in shape for queue in queues_of(view)})
    got = Counter(queue for i, view in enumerate(choice) for queue in allocated[view][i])
    return Outcome([queue for queue in union if got[queue] == 0], [queue for queue in union if got[queue] > 1])
