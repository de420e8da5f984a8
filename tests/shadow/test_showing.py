"""The report at the end, and the frames beside it that `rocketns replay` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.errors import StartupError
from rocketns.shadow.cli import check_report, write_report
from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.recording.file import Recording
from tests.shadow.counting.builders import kept
from tests.shadow.frames import answer, pair, request, route
from tests.shadow.status.standings import standing


def counts() -> Counts:
    found = Counts()
    signed = request(ext={"topic": "T", "AccessKey": "key", "Signature": "s3cret"})
    shown = kept(pair=pair(answer(route("a")), answer(route("b")), signed))
    found.add_unwanted(105, Outcome.DIFFERENT, shown)
    found.add_unwanted(105, Outcome.DIFFERENT, kept("large", pair=None))
    return found


def test_the_frames_of_pairs_that_differ_are_beside_the_report_without_what_signs_them(tmp_path: Path) -> None:
    written = write_report(tmp_path / "shadow.html", standing(counts()))
    assert [path.name for path in written] == ["shadow.html", "shadow.html.frames.jsonl"]
    ((_, recorded),) = Recording(written[1]).pairs()
    assert recorded.outcome is Outcome.DIFFERENT
    assert recorded.pair.own == answer(route("b"))
    assert b"s3cret" not in recorded.pair.request
    assert written[1].stat().st_mode & 0o777 == 0o600


def test_a_report_takes_the_place_of_the_one_before_and_has_no_frames_of_it(tmp_path: Path) -> None:
    path = tmp_path / "shadow.html"
    write_report(path, standing(counts()))
    assert write_report(path, standing(Counts())) == [path]
    assert [one.name for one in tmp_path.iterdir()] == ["shadow.html"]


def test_a_report_that_could_not_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    check_report(tmp_path / "new.html")
    for path in (tmp_path, tmp_path / "missing" / "shadow.html"):
        with pytest.raises(StartupError, match="the report cannot be written"):
            check_report(path)
