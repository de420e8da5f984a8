"""Journals damaged by a crash, a full disk or an attacker: routes are restored, data versions are not."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from rocketns.journal.restore import lines
from rocketns.journal.restore.reading import GivenUpError, Restored
from rocketns.journal.restore.restoring import restore
from rocketns.protocol.body.route import DataVersion

BOOT = 1_700_000_000_000
NOW = BOOT + 10_000
VERSION = {"dvt": 5, "dvc": 1, "dvs": 0}
RESTORED = DataVersion(0, 5, 1)
DEEP = b"[" * 1_000 + b"]" * 1_000


class Writer:
    """Writes the lines of one boot as a server would."""

    def __init__(self, root: Path, boot: int = BOOT, ns: str = "n1") -> None:
        self.folder = root / "v=1" / "dt=2023-11-14" / f"ns={ns}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.boot, self.ns, self.seq, self.number, self.data = boot, ns, 0, 0, b""

    def put(self, ev: str, **columns: object) -> Writer:
        self.seq += 1
        self.data += orjson.dumps({"boot": self.boot, "seq": self.seq, "ts": self.boot * 1000, "ev": ev} | columns)
        self.data += b"\n"
        return self

    def raw(self, line: bytes) -> Writer:
        self.data += line
        return self

    def begin(self, **start: object) -> Writer:
        self.open().put("start", ns=self.ns, **start)
        return self

    def open(self) -> Writer:
        return self.put("open", ns=self.ns, file=self.number + 1)

    def reg(self, broker: str, ev: str = "reg", **more: object) -> Writer:
        key = {"cluster": "C", "broker": broker, "addr": f"{broker}:1", "bid": 0}
        return self.put(ev, **key, **VERSION, timeout_ms=1, acting=False, **more)

    def tput(self, broker: str, *topics: str, ev: str = "tput", **more: object) -> Writer:
        listed = [{"t": topic, "r": 4, "w": 4, "p": 6, "s": 0} for topic in topics]
        return self.put(ev, broker=broker, cause="register", topics=listed, **more)

    def close(self, *, left_open: bool = False) -> Writer:
        self.number += 1
        name = f".open-{self.boot}-{self.number:06d}" if left_open else f"{self.boot}-{self.number:06d}.jsonl"
        (self.folder / name).write_bytes(self.data)
        self.data = b""
        return self


def read(root: Path, now: int = NOW) -> Restored:
    restored = restore(root, "n1", now, 86_400)
    assert restored is not None
    return restored


def versions(restored: Restored) -> dict[str, DataVersion | None]:
    return {name: group.brokers[0].live.data_version for name, group in restored.routes.groups.items()}


def two(root: Path) -> Writer:
    return Writer(root).begin().reg("a").tput("a", "T").reg("b").tput("b", "T", "U")


def test_a_whole_journal_gives_everything(tmp_path: Path) -> None:
    two(tmp_path).put("stop").close()
    restored = read(tmp_path)
    assert (restored.whole, restored.stopped) == (True, True)
    assert versions(restored) == {"a": RESTORED, "b": RESTORED}
    assert {topic: sorted(brokers) for topic, brokers in restored.routes.topics.items()} == {
        "T": ["a", "b"],
        "U": ["b"],
    }


def test_the_last_broker_of_a_killed_server_has_no_data_version(tmp_path: Path) -> None:
    """More records of its last request may be missing. The file may have been left open."""
    two(tmp_path).close(left_open=True)
    assert versions(read(tmp_path)) == {"a": RESTORED, "b": None}


def hole(writer: Writer) -> Writer:
    writer.seq += 1
    return writer.put("hb", cluster="C", broker="a", addr="a:1", bid=0, **VERSION)


@pytest.mark.parametrize(
    "damage",
    [
        hole,
        lambda writer: writer.put("drop", lost=1),
        lambda writer: writer.raw(b"\0" * 4096 + b"\n"),
        lambda writer: writer.raw(b"\xff\xfe garbage\n"),
        lambda writer: writer.raw(b"[1,2]\n"),
        lambda writer: writer.raw(b"[" * 100_000 + b"\n"),
        lambda writer: writer.raw(b'{"boot":1,"seq":1,"ts":1,"ev":"reg"}\n'),
        lambda writer: writer.put("reg", cluster="C"),
        lambda writer: writer.put("reg", cluster=1, broker=[], addr={}, bid="x", timeout_ms=1, acting=1),
        lambda writer: writer.put("tput", broker="a", topics=[{"t": 1, "r": 4, "w": 4, "p": 6, "s": 0}]),
        lambda writer: writer.put("tput", broker="a", topics=[{"t": "X", "r": 2**40, "w": 4, "p": 6, "s": 0}]),
        lambda writer: writer.put("tput", broker="a", topics="X"),
        lambda writer: writer.put("hb", cluster="C", broker="a", addr="a:1", bid=[], **VERSION),
        lambda writer: writer.raw(b'{"boot":1700000000000,"seq":8,"ts":1}\n'),
        lambda writer: writer.raw(b'{"boot":1700000000000,"seq":8,"ts":1,"ev":["reg"]}\n'),
        lambda writer: writer.raw(b'{"boot":1700000000000,"seq":8,"ts":1,"ev":"reg","cluster":' + DEEP + b"}\n"),
        lambda writer: writer.raw(b'{"boot":1700000000000,"seq":8,"ts":1,"ev":"x","escaped":1,"t":' + DEEP + b"}\n"),
        lambda writer: writer.put("tptu", broker="a", topics=[{"t": "X", "r": 4, "w": 4, "p": 6, "s": 0}]),
        lambda writer: writer.put("map", broker="a", maps=[{"t": "T", "ids": [[1, "x"]]}]),
    ],
)
def test_after_a_loss_there_are_routes_and_no_data_versions(tmp_path: Path, damage: Callable[[Writer], Writer]) -> None:
    damage(two(tmp_path)).put("stop").close()
    restored = read(tmp_path)
    assert versions(restored) == {"a": None, "b": None}
    assert restored.routes.topics.keys() == {"T", "U"}


def test_a_damaged_number_hides_no_other_record(tmp_path: Path) -> None:
    writer = two(tmp_path)
    writer.seq = 2**62
    writer.reg("c")
    writer.seq = 8
    writer.reg("d").tput("d", "W").close()
    restored = read(tmp_path)
    assert restored.routes.groups.keys() == {"a", "b", "c", "d"}
    assert set(versions(restored).values()) == {None}


def test_a_copy_of_a_file_is_not_read_again(tmp_path: Path) -> None:
    writer = two(tmp_path).put("down", cluster="C", broker="a", addr="a:1", bid=0, cause="expired").close()
    writer.open().reg("c").tput("c", "W").close()
    first = next(path for path in sorted(writer.folder.iterdir()))
    shutil.copy(first, writer.folder / f"{BOOT}-000003.jsonl")
    assert read(tmp_path).routes.groups.keys() == {"b", "c"}


@pytest.mark.parametrize("ns", ["n2", 7, None])
def test_a_damaged_name_in_a_file_costs_no_other_record(tmp_path: Path, ns: object) -> None:
    writer = two(tmp_path).close()
    writer.put("open", ns=ns, file=2).reg("c").tput("c", "W").close()
    assert read(tmp_path).routes.groups.keys() == {"a", "b", "c"}


def test_a_boot_whose_start_is_damaged_continues_the_one_before(tmp_path: Path) -> None:
    two(tmp_path).put("stop").close()
    Writer(tmp_path, BOOT + 1).open().raw(b'{"boot":1700000000001,"seq":2,"ev":"start"\n').reg("c").close()
    assert read(tmp_path).routes.groups.keys() == {"a", "b", "c"}


def test_an_end_with_something_else_ends_no_snapshot(tmp_path: Path) -> None:
    writer = two(tmp_path)
    writer.reg("c", ev="snap", snap=writer.seq + 1, part=0, end=True).close()
    assert read(tmp_path).routes.groups.keys() == {"a", "b", "c"}


def test_a_torn_line_is_the_end(tmp_path: Path) -> None:
    two(tmp_path).raw(b'{"boot":1700000').close(left_open=True)
    assert versions(read(tmp_path)) == {"a": RESTORED, "b": None}


def test_a_line_of_any_length_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 1_000)
    two(tmp_path).raw(b'{"boot":' + b"1" * 5_000 + b"}\n").put("stop").close()
    assert read(tmp_path).routes.groups.keys() == {"a", "b"}


def snapshot(writer: Writer, *brokers: str, end: bool = True) -> Writer:
    name = writer.seq + 1
    for part, broker in enumerate(brokers):
        writer.reg(broker, ev="snap", snap=name, part=2 * part).tput(
            broker, "S", ev="snap", snap=name, part=2 * part + 1
        )
    return writer.put("snap", snap=name, part=2 * len(brokers), end=True) if end else writer


def test_reading_begins_at_the_last_whole_snapshot(tmp_path: Path) -> None:
    """Records before the snapshot may be lost: the snapshot is complete."""
    writer = hole(two(tmp_path)).close().open()
    snapshot(writer, "c").reg("d").tput("d", "U").put("stop").close()
    restored = read(tmp_path)
    assert versions(restored) == {"c": RESTORED, "d": RESTORED}
    assert restored.files == 1


def test_an_unfinished_snapshot_is_no_beginning(tmp_path: Path) -> None:
    snapshot(two(tmp_path), "c", end=False).put("stop").close()
    assert versions(read(tmp_path)).keys() == {"a", "b", "c"}


def test_a_snapshot_with_a_hole_is_no_beginning(tmp_path: Path) -> None:
    writer = two(tmp_path)
    name = writer.seq + 1
    writer.reg("c", ev="snap", snap=name, part=0)
    writer.seq += 1
    writer.put("snap", snap=name, part=2, end=True).put("stop").close()
    assert versions(read(tmp_path)) == {"a": None, "b": None, "c": None}


def test_a_restored_boot_continues_the_one_before(tmp_path: Path) -> None:
    """Also one that was killed before its own snapshot was whole."""
    two(tmp_path).put("stop").close()
    Writer(tmp_path, BOOT + 1).begin(restored=True).tput("a", "V").close(left_open=True)
    restored = read(tmp_path)
    assert restored.routes.topics.keys() == {"T", "U", "V"}


def test_a_boot_that_began_empty_does_not(tmp_path: Path) -> None:
    two(tmp_path).put("stop").close()
    Writer(tmp_path, BOOT + 1).begin().reg("c").tput("c", "V").put("stop").close()
    assert read(tmp_path).routes.topics.keys() == {"V"}


def test_files_of_another_name_server_are_not_believed(tmp_path: Path) -> None:
    two(tmp_path).put("stop").close()
    other = Writer(tmp_path, BOOT + 1, ns="n2").begin().reg("x").tput("x", "X").put("stop").close()
    shutil.copy(next(other.folder.iterdir()), tmp_path / "v=1" / "dt=2023-11-14" / "ns=n1")
    assert read(tmp_path).routes.topics.keys() <= {"T", "U"}


@pytest.mark.parametrize(
    "name", ["1-1.jsonl", ".open-x", "9" * 30 + "-1.jsonl", "README", "1700000000000-000009.jsonl"]
)
def test_strange_files_do_not_stop_it(tmp_path: Path, name: str) -> None:
    writer = two(tmp_path).put("stop").close()
    (writer.folder / name).write_bytes(b"")
    assert read(tmp_path).routes.groups.keys() >= {"a", "b"}


def test_nothing_to_read_restores_nothing(tmp_path: Path) -> None:
    assert restore(tmp_path, "n1", NOW, 86_400) is None
    assert restore(tmp_path / "none", "n1", NOW, 86_400) is None
    (tmp_path / "v=1").write_text("no folder")
    assert restore(tmp_path, "n1", NOW, 86_400) is None


def seeded(root: Path, *, is_whole: bool) -> Restored:
    """A boot with the topics T and U, and a boot hours later that read V from another name server and was killed."""
    two(root).put("stop").close()
    later = Writer(root, BOOT + 7_200_000).begin(restored=True, seeded=True)
    later.reg("c", ev="snap", snap=3, part=0).tput("c", "V", ev="snap", snap=3, part=1)
    if is_whole:
        later.put("snap", snap=3, part=2, end=True)
    later.reg("d").tput("d", "W").close(left_open=True)
    return read(root, BOOT + 7_201_000)


def test_nothing_from_before_a_seeded_boot_counts(tmp_path: Path) -> None:
    restored = seeded(tmp_path, is_whole=True)
    assert restored.routes.topics.keys() == {"V", "W"}
    assert restored.ended_epoch_ms == BOOT + 7_200_000


def test_a_seeded_boot_without_a_whole_snapshot_is_not_believed(tmp_path: Path) -> None:
    """That boot has only a part of the routes, so another name server is asked again, as if the boot had not happened.
    Without an answer, all known routes are better than a part."""
    restored = seeded(tmp_path, is_whole=False)
    assert restored.ended_epoch_ms == BOOT
    assert restored.routes.topics.keys() == {"T", "U", "V", "W"}


def test_the_first_boot_of_all_may_be_seeded(tmp_path: Path) -> None:
    Writer(tmp_path).begin(restored=True, seeded=True).reg("c", ev="snap", snap=3, part=0).close(left_open=True)
    assert read(tmp_path).ended_epoch_ms == 0


def test_reading_ends_when_nobody_wants_the_routes_any_more(tmp_path: Path) -> None:
    two(tmp_path).close()
    given_up = threading.Event()
    given_up.set()
    with pytest.raises(GivenUpError):
        restore(tmp_path, "n1", NOW, 86_400, given_up)
