"""Plays histories and compares what is answered before and after each restart; a failing history is made short."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from interop.parity.sequences import shrink
from tests.journal.wild import grammar
from tests.journal.wild.answers import Entry, Said, answers, live_entries, questions
from tests.journal.wild.reading import Readers
from tests.journal.wild.steps import Restart, Step
from tests.journal.wild.world import World, small_pieces

SHRINK_TRIES_MAX = 400
ROTATIONS = (1 << 20, 1 << 20, 2_000)


@dataclass(frozen=True)
class Difference:
    """The first answer that differs after a restart."""

    steps: Sequence[Step]
    what: str
    before: object
    after: object

    def __str__(self) -> str:
        lines = "".join(f"    {step!r},\n" for step in self.steps)
        return f"{self.what}\n  before: {self.before}\n  after:  {self.after}\n  steps: [\n{lines}  ]"


Found = tuple[str, object, object]
Play = Callable[[Sequence[Step], Path, int], Difference | None]


def play(steps: Sequence[Step], home: Path, rotation: int = ROTATIONS[0]) -> Difference | None:
    """The first difference that a restart makes; None: all answers are equal."""
    with small_pieces():
        world = World(home, rotation)
        for number, step in enumerate(steps, 1):
            found = restarted(world, step) if isinstance(step, Restart) else world.play(step)
            if found is not None:
                return Difference(steps[:number], *found)
    return None


def read(steps: Sequence[Step], home: Path, rotation: int = ROTATIONS[0]) -> Difference | None:
    """The first step after which the journal tells something else than the tables; None: there is none."""
    with small_pieces():
        world = World(home, rotation)
        readers = Readers(world)
        for number, step in enumerate(steps, 1):
            try:
                _play_and_read(world, readers, step)
            except AssertionError as error:
                return Difference(steps[:number], "the journal differs from the tables", "", error)
    return None


def _play_and_read(world: World, readers: Readers, step: Step) -> None:
    if isinstance(step, Restart):
        world.restart(step)
        readers.begin_boot()
    else:
        world.play(step)
    readers.read()


def restarted(world: World, step: Restart) -> Found | None:
    asked = list(questions(world.tables))
    before, tables = answers(world, asked), world.tables
    said = live_entries(tables)
    world.restart(step)
    after = answers(world, asked)
    for what, reply in before.items():
        if after[what] != reply:
            return what, reply, after[what]
    return _of_lives(world, said, live_entries(world.tables))


def _of_lives(world: World, before: Said, after: Said) -> Found | None:
    """Two exceptions: see docs/reliability.md. An address of a group may have a live entry without a data version where
    it had none, or may have lost the data version if the last request before a kill was about its group.
    """
    restored = world.restored
    groups = {} if restored is None else restored.routes.groups
    members = [(name, broker) for name, group in groups.items() for broker in group.brokers.values()]
    forgotten = {(one.cluster, one.addr) for name, one in members if restored and name == restored.unfinished}
    revived = {(one.cluster, one.addr) for _, one in members if one.live.timeout_ms is None}
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if key in forgotten and old is not None and new is not None:
            old = old._replace(version=new.version and old.version)
        if key in revived:
            old, new = _without_entry(old), _without_entry(new)
        if old != new:
            return f"live {key}", before.get(key), new
    return None


def _without_entry(said: Entry | None) -> Entry | None:
    """Without a live entry that has no data version."""
    if said is None or said.version is not None:
        return said
    return Entry(None, None, None, None, said.filters) if said.filters else None


def run(seed: str, home: Path, how: Play = play) -> Difference | None:
    """Play the history of a seed. A difference is that of the shortest history that was found."""
    rotation = random.Random(seed).choice(ROTATIONS)
    found = how(grammar.history(seed), home, rotation)
    return None if found is None else shortest(found, home, rotation, how)


def shortest(found: Difference, home: Path, rotation: int, how: Play) -> Difference:
    """With fewer steps, of which the last one is the same."""
    last = found.steps[-1]

    def tried(steps: Sequence[Step]) -> Difference | None:
        return how([*steps, last], home, rotation)

    steps = shrink(found.steps[:-1], lambda some: tried(some) is not None, SHRINK_TRIES_MAX)
    return tried(steps) or found
