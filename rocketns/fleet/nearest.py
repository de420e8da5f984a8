"""The names nearest to one that nobody has: other capitals and other separators first, then a few other letters.

A name is read without capitals, without ``-``, ``_`` and ``.``, and without the namespace before a ``%``. Then a
distance counts letters that were added, left out, replaced or exchanged with their neighbour.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from itertools import pairwise

NEAREST_MAX = 3
DISTANCE_MAX = 2
SHORT = 6  # of a shorter name only one letter may differ: with two, too many names are alike
# A longer name is no topic that a broker takes, whatever a peer asks for or registers.
NAME_CHARACTERS_MAX = 255
# Letters that are compared in one search, for some us each: of other names that begin or end alike only those with one
# other letter are found. And of one name: with more letters it has to be alike but for one.
COMPARED_MAX = 20_000
LETTERS_MAX = 127
# The work of one step, well under a millisecond: a name looked at counts as one letter.
STEP_LETTERS = 48


def plain(name: str) -> str:
    """What of a name is compared."""
    text = name.rpartition("%")[2] if "%" in name else name
    return text.lower().replace("-", "").replace("_", "").replace(".", "")


def distance(one: str, other: str, most: int) -> int:
    """How many letters differ; ``most`` + 1 where more than ``most`` do."""
    return _counted(*_differing(one, other), most)


def _counted(one: str, other: str, most: int) -> int:
    """`distance`, for some microseconds a letter."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one):
        before, last, row = row, before, [at + 1] + [most + 1] * len(other)
        for column in range(max(0, at - most), min(len(other), at + most + 1)):
            row[column + 1] = min(before[column + 1] + 1, row[column] + 1, before[column] + (letter != other[column]))
            if at and column and letter == other[column - 1] and one[at - 1] == other[column]:
                row[column + 1] = min(row[column + 1], last[column - 1] + 1)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _differing(one: str, other: str) -> tuple[str, str]:
    """Without the letters with which both begin and end. About 1 us."""
    start = _alike(one, other)
    one, other = one[start:], other[start:]
    ends = _alike(one[::-1], other[::-1])
    return one[: len(one) - ends], other[: len(other) - ends]


def _alike(one: str, other: str) -> int:
    """How many letters they begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


def _is_one_apart(one: str, other: str) -> bool:
    """Whether one letter differs, or two neighbours are exchanged. About 1 us."""
    at = _alike(one, other)
    if len(one) == len(other):
        swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
        return swapped or one[at + 1 :] == other[at + 1 :]
    shorter, longer = sorted((one, other), key=len)
    return len(longer) == len(shorter) + 1 and longer[at + 1 :] == shorter[at:]


class _Search:
    """What is wanted. ``spent``: the work so far, in letters."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.wanted = plain(name)
        self.most = 1 if len(self.wanted) < SHORT else DISTANCE_MAX
        self.spent = 0
        self._left = COMPARED_MAX
        # With so many differences, at least one piece is in the other name as it is: two neighbours that are exchanged
        # may be in two pieces.
        count = self.most + 2
        ends = [len(self.wanted) * number // count for number in range(count + 1)]
        self._pieces = [self.wanted[start:end] for start, end in pairwise(ends)]

    def distance_to(self, other: str) -> int:
        """More than ``most`` if it is not near."""
        self.spent += 1
        if len(other) > NAME_CHARACTERS_MAX:
            return self.most + 1
        text = plain(other)
        if abs(len(text) - len(self.wanted)) > self.most or other == self.name:
            return self.most + 1
        if text == self.wanted:
            return 0
        for piece in self._pieces:
            if piece in text:
                return self._compared(text)
        return self.most + 1

    def _compared(self, text: str) -> int:
        if _is_one_apart(self.wanted, text):
            return 1
        if self.most == 1 or self._left <= 0:
            return self.most + 1
        one, other = _differing(self.wanted, text)
        if len(one) > LETTERS_MAX:
            return self.most + 1
        self._left -= len(one)
        self.spent += len(one)
        return _counted(one, other, self.most)


def find_nearest(name: str, names: Collection[str]) -> Generator[None, None, tuple[str, ...]]:
    """The nearest of ``names``, at most NEAREST_MAX, the nearest first. Each step takes well under a millisecond.

    The first step copies ``names``, which may change later.
    """
    search = _Search(name)
    if not search.wanted:
        return ()
    found: list[tuple[int, str]] = []
    for other in list(names):
        if (apart := search.distance_to(other)) <= search.most:
            found = sorted([*found, (apart, other)])[:NEAREST_MAX]
        if search.spent >= STEP_LETTERS:
            search.spent = 0
            yield
    return tuple(other for _, other in found)


def nearest(name: str, names: Collection[str]) -> tuple[str, ...]:
    """`find_nearest` to its end: for a program that nobody waits for, and for tests."""
    search = find_nearest(name, names)
    while True:
        try:
            next(search)
        except StopIteration as end:
            found: tuple[str, ...] = end.value
            return found
