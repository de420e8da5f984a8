"""One pair of servers at a time: tests that need another setup stop the last pair and start their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from interop.parity.pairs.pair import Pair
from interop.parity.pairs.setups import SETUPS

PairOf = Callable[[str], Pair]


@pytest.fixture(scope="session")
def pair_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PairOf]:
    """The pair of a setup by its name; started unless it is running."""
    running: list[Pair] = []

    def pair(name: str) -> Pair:
        if running and (running[-1].setup.name != name or not running[-1].are_running()):
            running.pop().stop()
        if not running:
            running.append(Pair(SETUPS[name], tmp_path_factory.mktemp(name)))
        return running[-1]

    yield pair
    for one in running:
        one.stop()
