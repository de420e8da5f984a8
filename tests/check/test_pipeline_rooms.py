"""The rooms of the pipeline import each other in one direction, and no folder has more than a dozen modules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from tests.check.source import ROOT, Source, sources

PIPELINE = "rocketns.pipeline"
# A room may import the rooms of the tuples before its own, and not those beside it.
ORDER = (
    ("contract",),
    ("storage", "jobs", "report", "synthetic"),
    ("batch", "stream"),
    ("cli",),
    ("submit",),
)
MODULES_MAX = 12


def violations(root: Path) -> Iterator[str]:
    """``file:line: what is wrong`` for every import that breaks the order of the rooms."""
    for source in sources(root, "rocketns/pipeline", suffixes=(".py",)):
        room = _room(source)
        if room not in {"", *(name for rooms in ORDER for name in rooms)}:
            yield f"{source.name}:1: add the room {room} to ORDER in tests/check/test_pipeline_rooms.py"
        for line, name in source.imports:
            if name.startswith(f"{PIPELINE}.") and name.split(".")[2] not in {room, *_before(room)}:
                yield f"{source.name}:{line}: {room or 'the package'} may not import {name}"


def circles(root: Path) -> list[str]:
    """Folders and modules of one folder that import each other in a circle."""
    edges: dict[tuple[str, str], set[str]] = {}
    for source in sources(root, "rocketns/pipeline", suffixes=(".py",)):
        own = source.name.removesuffix(".py").removesuffix("/__init__").split("/")
        for _, name in source.imports:
            other = name.split(".")
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, other, strict=False)))
            if other[0] == "rocketns" and shared < min(len(own), len(other)):
                edges.setdefault(("/".join(own[:shared]), own[shared]), set()).add(other[shared])
    return [
        f"{folder}: {node} imports itself by way of others" for folder, node in edges if _reaches(edges, folder, node)
    ]


def _reaches(edges: dict[tuple[str, str], set[str]], folder: str, node: str) -> bool:
    seen: set[str] = set()
    waiting = [*edges[folder, node]]
    while waiting:
        other = waiting.pop()
        if other == node:
            return True
        if other not in seen:
            seen.add(other)
            waiting += edges.get((folder, other), ())
    return False


def _room(source: Source) -> str:
    first = Path(source.name).parts[2].removesuffix(".py")
    return "" if first == "__init__" else first


def _before(room: str) -> set[str]:
    place = next((place for place, rooms in enumerate(ORDER) if room in rooms), 0)
    return {name for rooms in ORDER[:place] for name in rooms}


def test_rooms_import_in_one_direction() -> None:
    found = list(violations(ROOT))
    assert not found, "\n".join(found)


def test_no_folder_has_a_circle() -> None:
    found = circles(ROOT)
    assert not found, "\n".join(found)


def test_no_folder_has_more_than_a_dozen_modules() -> None:
    folders = [ROOT / "rocketns/pipeline", *(ROOT / "rocketns/pipeline").rglob("*/")]
    counts = {folder: len([file for file in folder.glob("*.py") if file.name != "__init__.py"]) for folder in folders}
    assert counts[ROOT / "rocketns/pipeline/contract"] > 0
    crowded = {str(folder): count for folder, count in counts.items() if count > MODULES_MAX}
    assert not crowded, f"sort them into folders of at most {MODULES_MAX} modules"


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
    plant(tmp_path, path, line)
    assert len(list(violations(tmp_path))) == 1


def test_a_planted_circle_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "jobs/a.py", "from rocketns.pipeline.jobs.queues.b import x")
    plant(tmp_path, "jobs/queues/b.py", "from rocketns.pipeline.jobs.c import x")
    plant(tmp_path, "jobs/c.py", "from rocketns.pipeline.jobs.a import x")
    assert len(circles(tmp_path)) == 3


def plant(root: Path, path: str, text: str) -> None:
    file = root / "rocketns" / "pipeline" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", "utf-8")
