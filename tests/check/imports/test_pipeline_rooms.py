"""The rooms of the pipeline import each other in one direction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.check.source import ROOT, Source, plant, sources

PIPELINE = "rocketns.pipeline"
# A room may import the rooms of the tuples before its own, and not those beside it.
ORDER = (
    ("saying",),
    ("contract",),
    ("storage", "jobs", "incidents", "synthetic"),
    ("report",),
    ("batch", "stream", "moment"),
    ("cli",),
    ("submit",),
)


def violations(root: Path) -> Iterator[str]:
    """``file:line: what is wrong`` for every import that breaks the order of the rooms."""
    for source in sources(root, "rocketns/pipeline", suffixes=(".py",)):
        room = _room(source)
        if room not in {"", *(name for rooms in ORDER for name in rooms)}:
            yield f"{source.name}:1: add the room {room} to ORDER in tests/check/imports/test_pipeline_rooms.py"
        for line, name in source.imports:
            if name.startswith(f"{PIPELINE}.") and name.split(".")[2] not in {room, *_before(room)}:
                yield f"{source.name}:{line}: {room or 'the package'} may not import {name}"


def _room(source: Source) -> str:
    first = Path(source.name).parts[2].removesuffix(".py")
    return "" if first == "__init__" else first


def _before(room: str) -> set[str]:
    place = next((place for place, rooms in enumerate(ORDER) if room in rooms), 0)
    return {name for rooms in ORDER[:place] for name in rooms}


def test_rooms_import_in_one_direction() -> None:
    found = list(violations(ROOT))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("contract/catalogue.py", "from rocketns.pipeline.jobs.brokers import broker_stats"),
        ("jobs/brokers.py", "from rocketns.pipeline.storage.results import Results"),
        ("report/page.py", "import rocketns.pipeline.batch.run"),
        ("stream/step.py", "from rocketns.pipeline.batch.run import audit"),
        ("batch/run.py", "def f():\n    from rocketns.pipeline.cli import audit"),
        ("novelty/part.py", "import os"),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, path: str, line: str) -> None:
    plant(tmp_path, f"rocketns/pipeline/{path}", line)
    assert len(list(violations(tmp_path))) == 1
