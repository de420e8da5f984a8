"""`explain` reads any journal: damaged lines cost only what they said."""

from __future__ import annotations

import os
import random

import orjson
import pytest

from rocketns.journal.reading.clocks import estimates
from rocketns.journal.reading.lines import records_of
from rocketns.pipeline.moment.around import causes, lost_before
from rocketns.pipeline.moment.recorded import Recorded
from rocketns.pipeline.moment.routes import Route, routes_at
from tests.journal.wild.damage import damaged
from tests.pipeline.moment.served import served
from tests.support.profile import new_seed

SEED = new_seed()
MUTATED = int(os.environ.get("ROCKETNS_MUTATED") or 300)


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return [orjson.dumps(record) for record in served(7, 60).records]


def explained(lines: list[bytes], *, ingested: bool) -> list[Route]:
    """As `explain` works. ``ingested``: as from Parquet, where a missing column is None."""
    recorded = Recorded()
    records = list(records_of(b"\n".join(lines) + b"\n", "n1", "2023-11-14"))
    columns = {name: None for record in records for name in record}
    recorded.add((columns | record if ingested else record for record in records), "T", 0)
    recorded = recorded.sorted()
    at = max(record["ts"] for record in records)
    estimates(recorded.days, recorded.shown(), recorded.heard)
    causes(recorded, at)
    lost_before(recorded, at)
    return routes_at(recorded.corrected({}).until(at), "T", at, acting_masters=True)


@pytest.mark.parametrize("ingested", [False, True], ids=["journal", "ingested"])
def test_any_line_may_be_damaged(lines: list[bytes], ingested: bool) -> None:
    for seed in range(SEED, SEED + MUTATED):
        chance, some = random.Random(seed), list(lines)
        for number in chance.sample(range(len(some)), 3):
            some[number] = damaged(chance, some[number])
        try:
            assert [route.ns for route in explained(some, ingested=ingested)] == ["n1"]
        except Exception as error:
            error.add_note(f"replay: ROCKETNS_SEED={seed} python -m pytest {__file__}")
            raise


def test_lines_of_other_kinds_change_nothing(lines: list[bytes]) -> None:
    """A later version may have kinds of records and columns that this one does not know."""
    odd = orjson.dumps(orjson.loads(lines[5]) | {"ev": "other", "unknown": [1]})
    assert explained([*lines[:5], odd, *lines[6:]], ingested=False)
