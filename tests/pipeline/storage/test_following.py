"""Which bytes of the journals are new: files in the order of their numbers, also open ones. No file is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.pipeline.storage.files.local import Local
from rocketns.pipeline.storage.following import MISSING_LOOKS, Look, Place, look
from rocketns.pipeline.storage.paths import folder_at

DAY, NEXT, FAR = "2026-01-01", "2026-01-02", "2036-01-01"


class Journal:
    """Files of one boot of each name server, and the places up to which they were read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.places: list[Place] = []

    def file(
        self, number: int, lines: str, *, ns: str = "n1", day: str = DAY, is_open: bool = False, boot: int = 5
    ) -> None:
        folder = self.root / "v=1" / f"dt={day}" / f"ns={ns}"
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{boot}-{number:06d}"
        (folder / f".open-{stem}").unlink(missing_ok=True)
        (folder / (f".open-{stem}" if is_open else f"{stem}.jsonl")).write_text(lines, "utf-8")

    def look(self, bytes_max: int = 1000) -> Look:
        found = look(folder_at(None, str(self.root)), self.places, bytes_max)
        self.places = [Place(*place) for place in found.places]
        return found

    def new(self, bytes_max: int = 1000) -> list[str]:
        return [text.data.decode() for text in self.look(bytes_max).texts]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_an_open_file_is_followed_over_its_end(journal: Journal) -> None:
    journal.file(1, "a\n", is_open=True)
    assert journal.new() == ["a\n"]
    again = journal.look()
    assert (again.texts, again.opened) == ([], {"n1"})
    journal.file(1, "a\nb\nc", is_open=True)
    assert journal.new() == ["b\n"]
    journal.file(1, "a\nb\ncc\n")
    journal.file(2, "d\n", is_open=True)
    assert journal.new() == ["cc\n", "d\n"]
    assert journal.new() == []


def test_a_missing_file_is_waited_for_and_then_passed_over(journal: Journal) -> None:
    journal.file(1, "a\n")
    journal.file(3, "c\n")
    assert journal.new() == ["a\n"]
    journal.file(2, "b\n")
    assert journal.new() == ["b\n", "c\n"]
    journal.file(9, "i\n")
    looks = [journal.new() for _ in range(MISSING_LOOKS)]
    assert looks == [[]] * (MISSING_LOOKS - 1) + [["i\n"]]


def test_only_the_days_that_can_change_are_listed(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [f"2026-01-{day:02d}" for day in range(1, 31)]
    for number, day in enumerate(days, 1):
        journal.file(number, f"{number}\n", day=day)
        journal.look()
    listed: list[str] = []
    real = Local.names
    monkeypatch.setattr(Local, "names", lambda folder, name: (listed.append(name), real(folder, name))[1])
    journal.look()
    assert sorted({name.split("/")[1] for name in listed if "/" in name}) == ["dt=2026-01-29", "dt=2026-01-30"]


def test_a_clock_that_was_years_ahead_for_a_moment_does_not_end_it(journal: Journal) -> None:
    for number, day in ((1, DAY), (2, FAR), (3, DAY), (4, NEXT)):
        journal.file(number, f"{number}\n", day=day)
        assert journal.new() == [f"{number}\n"]
        assert [place.number for place in journal.places] == [number + 1], "only one place is remembered"


def test_another_boot_is_read_after_the_one_before(journal: Journal) -> None:
    journal.file(1, "a\n", is_open=True)
    assert journal.new() == ["a\n"]
    journal.file(1, "a\nb\n")
    journal.file(1, "c\n", boot=6, is_open=True)
    assert journal.new() == ["b\n", "c\n"]
    for boot in range(7, 20):
        journal.file(1, "x\n", boot=boot)
        journal.new()
    assert [place.boot for place in journal.places] == [16, 17, 18, 19]
    assert journal.new() == []


def test_journals_go_on_together_while_much_is_there_to_read(journal: Journal) -> None:
    """Each line is of its file's second; a look takes about two lines."""
    for number in range(1, 6):
        for ns in ("n1", "n2"):
            journal.file(number, f'{{"ts":{number}000000}}\n', ns=ns)
    seen = []
    while (found := journal.look(bytes_max=20)).texts:
        seen.append(([(text.ns, text.data[6:7]) for text in found.texts], sorted(found.pending)))
    assert seen[0] == ([("n1", b"1"), ("n2", b"1")], ["n1", "n2"])
    assert seen[-1] == ([("n1", b"5"), ("n2", b"5")], [])
    assert len(seen) == 5


def test_files_that_are_not_a_journals_are_skipped(journal: Journal) -> None:
    journal.file(1, "a\n")
    folder = journal.root / "v=1" / f"dt={DAY}" / "ns=n1"
    for name in ("notes.txt", ".5-000002.jsonl", ".open-5-000002.jsonl", "5-000002", ".open-x-1"):
        (folder / name).write_text("no\n", "utf-8")
    (journal.root / "v=1" / ".lock-n1").write_text("", "utf-8")
    assert journal.new() == ["a\n"]
