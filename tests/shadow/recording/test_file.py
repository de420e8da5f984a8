"""The file of a recording: its owner's alone, never another file, bounded; and what a reader says of a wrong one."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest

from interop.harness import codes
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.recording import file
from rocketns.shadow.recording.file import Recorder, Recording
from rocketns.shadow.recording.lines import Recorded, RecordingError
from tests.shadow.recording.pairs import answer, pair, request

LOOKUP = request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
HEAD = b'{"format":"rocketns-frames","version":1,"names":"plain"}\n'


def recorded(path: Path) -> list[Recorded]:
    return [found for _, found in Recording(path).pairs()]


def line(**changed: object) -> bytes:
    shown = base64.b64encode(LOOKUP).decode()
    fields = {"at_ms": 1, "connection": 1, "peer": "p", "request": shown, "upstream": None, "own": None}
    return json.dumps(fields | changed).encode() + b"\n"


def test_what_was_recorded_is_read_again(tmp_path: Path) -> None:
    sent = [pair(LOOKUP), pair(LOOKUP, None, answer(b"{}"), connection=2)]
    with Recorder(tmp_path / "a") as recorder:
        recorder.record(sent[0], Outcome.EQUAL)
        recorder.record(sent[1])
    assert recorded(tmp_path / "a") == [Recorded(sent[0], Outcome.EQUAL), Recorded(sent[1])]


def test_a_recording_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    Recorder(tmp_path / "a").close()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_that_is_there_is_not_written(tmp_path: Path, kind: str) -> None:
    (tmp_path / "kept").write_text("kept")
    path = tmp_path / kind
    path.write_text("kept") if kind == "file" else path.symlink_to(tmp_path / "kept")
    with pytest.raises(FileExistsError):
        Recorder(path)
    assert path.read_text() == "kept"


def test_a_recording_ends_at_its_number_of_pairs(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a", pairs_max=2) as recorder:
        for _ in range(5):
            recorder.record(pair(LOOKUP))
    assert (recorder.recorded, recorder.without_room, len(recorded(tmp_path / "a"))) == (2, 3, 2)


def test_a_recording_ends_at_its_bytes(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a", bytes_max=2_000) as recorder:
        for _ in range(50):
            recorder.record(pair(LOOKUP))
    assert (tmp_path / "a").stat().st_size <= 2_000
    assert recorder.recorded + recorder.without_room == 50
    assert recorder.without_room > 0


def test_a_pair_that_nobody_can_read_is_counted_and_not_written(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a") as recorder:
        recorder.record(pair(b"\0\0\0\4\0\0\0\0"))
    assert (recorder.unreadable, recorded(tmp_path / "a")) == (1, [])


def test_a_recording_with_hashed_names_says_so(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a", hash_names=True) as recorder:
        recorder.record(pair(LOOKUP))
    assert Recording(tmp_path / "a").head.has_hashed_names
    assert b"10.0.0.7" not in (tmp_path / "a").read_bytes()


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(HEAD + line() + line()[:30])
    assert len(recorded(tmp_path / "a")) == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"{}\n", b"[]\n", b"\x80\n", HEAD.replace(b"1", b"2"), HEAD.replace(b"frames", b"other")],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(RecordingError):
        Recording(tmp_path / "a")


@pytest.mark.parametrize(
    "bad",
    [
        b"[]\n", b"{\n", line(request=None), line(request="?"), line(request="AAAA"), line(connection="1"),
        line(connection=True), line(at_ms=-1), line(peer=7), line(upstream=[1]), line(outcome="good"),
        line(upstream_ms="1"), line(upstream_ms=-1), line(upstream_ms=True),
        line(at_ms=2**60), line(request=base64.b64encode(LOOKUP + b"x").decode()),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a").write_bytes(HEAD + line() + bad + line())
    with pytest.raises(RecordingError, match="line 3"):
        recorded(tmp_path / "a")


def test_a_line_beyond_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "LINE_BYTES_MAX", 100)
    (tmp_path / "a").write_bytes(HEAD + line(peer="p" * 100))
    with pytest.raises(RecordingError, match="line 2: more than 100 bytes"):
        recorded(tmp_path / "a")


def test_a_recording_of_too_many_pairs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "READ_PAIRS_MAX", 2)
    (tmp_path / "a").write_bytes(HEAD + line() * 3)
    with pytest.raises(RecordingError, match="more than 2 pairs"):
        recorded(tmp_path / "a")
