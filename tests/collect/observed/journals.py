"""Journals of a watched name server: in memory, or on a disk; their records, checked and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from rocketns.collect.observed_journal import ObservedJournal
from rocketns.collect.observing import Observed
from rocketns.config.journal import JournalConfig
from rocketns.journal.encoding import unescaped
from rocketns.journal.segments import Store
from tests.journal.memory import MemoryWriter
from tests.journal.replay import Record, check_columns, parsed

NS = "java1"
NOW_MS = 1_700_000_000_000
CHANGES = {"reg", "down", "tput", "tdel", "map", "group", "live", "stop"}
NEVER = {"hb", "doubt", "lookup", "admin", "refused", "stall", "list"}
HIDDEN = {"gap", "timeout_ms", "ha", "dvt", "dvc", "dvs", "from_host"}


class Steps:
    """What the journal does later, when it is `run`."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []

    def __call__(self, _seconds: float, step: Callable[[], None]) -> None:
        self._waiting.append(step)

    def run(self) -> None:
        while self._waiting:
            self._waiting.pop(0)()


@contextmanager
def memory_journal(
    observed: Observed, steps: Steps, **config: object
) -> Iterator[tuple[ObservedJournal, MemoryWriter]]:
    """A journal that has not begun. All of its boots write into one writer."""
    writer = MemoryWriter()
    settings = JournalConfig(journal_path="/nowhere", **config)  # type: ignore[arg-type]
    with patch("rocketns.journal.journal.Writer", lambda *_: writer):
        yield ObservedJournal(settings, NS, observed, steps), writer


def journal_at(root: Path, observed: Observed, steps: Steps) -> ObservedJournal:
    return ObservedJournal(JournalConfig(journal_path=str(root)), NS, observed, steps)


def records_of(root: Path) -> list[Record]:
    """All records of the journal's files."""
    return [one for _, path in Store(root, NS).everything() for one in parsed(path.read_bytes())]


def checked(records: list[Record]) -> list[Record]:
    """Each record is one that an observer may write. Returned with all texts as they were."""
    for one in records:
        check_columns(one)
        assert one["ev"] not in NEVER, one
        assert not HIDDEN & one.keys(), one
        assert one.get("cause") in (None, "observed", "register"), one
        assert "since" in one or one["ev"] not in CHANGES, one
        assert one.get("since", 0) <= one["ts"], one
        assert "since" not in one or one["ev"] in CHANGES | {"kv", "config"}, one
    return [unescaped(one) if one.get("escaped") else one for one in records]
