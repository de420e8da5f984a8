"""Journals damaged by a crash, a full disk or an attacker: routes are restored, data versions are not."""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, topic_config
from rocketns.journal import restore as restore_module
from rocketns.journal.restore import RestoreCancelled, Restored, restore
from rocketns.protocol.body.route import DataVersion
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.filling import fill
from rocketns.routeinfo.tables import RouteTables
from tests.simulation.wild import WildSimulation, hold_snapshot, outcome_of
from tests.support.histories import Ask, Pass, Restart, damaged_line
from tests.support.profile import new_seed

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


def test_a_line_of_any_length_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore_module, "LINE_BYTES_MAX", 1_000)
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
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(RestoreCancelled):
        restore(tmp_path, "n1", NOW, 86_400, cancelled)


SEED = new_seed()
NS, DAY_S = "n1", 86_400
MUTATED = int(os.environ.get("ROCKETNS_MUTATED") or 400)
BROKERS = 12
Mutation = tuple[Path, list[bytes], set[str]]  # a file, its lines with damaged ones, and the brokers that those name


class Written(NamedTuple):
    """The files of a journal by their paths, and the time after them."""

    root: Path
    files: dict[Path, list[bytes]]
    epoch_ms: int


def register_broker(number: int) -> Ask:
    topics = [topic_config(f"T{number}"), topic_config("shared")]
    ext = {"brokerAddr": f"a:{number}", "brokerName": f"b{number}", "clusterName": "C", "brokerId": "0"}
    return Ask(0, codes.REGISTER_BROKER, ext, register_body(topics, data_version(number)))


@pytest.fixture(scope="module", params=[4_096, 1 << 20], ids=["many-files", "one-file"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A real journal of two boots that were killed, the second one before it had written a whole snapshot."""
    root, registered = tmp_path_factory.mktemp("mutated"), [register_broker(number) for number in range(BROKERS)]
    times: list[int] = []

    def save(simulation: WildSimulation) -> None:
        simulation.server.disk.folder.save(root)
        times.append(simulation.server.clock.now().epoch_ms)

    steps = (*registered, Pass(1_000), Restart(kill=True))
    assert outcome_of(*steps, hold_snapshot, *registered, Pass(1_000), save, journalRotationBytes=request.param) is None
    root /= "journal"
    paths = sorted(root.glob("v=1/*/*/*"), key=lambda path: path.name.removeprefix(".open-"))
    files = {path: path.read_bytes().splitlines() for path in paths}
    return Written(root, files, times[0] + 1_000)


def names_in(line: bytes) -> set[str]:
    """The brokers that a line names; all of them if it says that the boot, or its file, has nothing to do with them."""
    try:
        record = orjson.loads(line)
    except ValueError:
        return set()
    if not isinstance(record, dict):
        return set()
    is_other = record.get("ev") == "open" and type(record.get("ns")) is str and record["ns"] != NS
    if is_other or record.get("ev") == "start":
        return {f"b{number}" for number in range(BROKERS)}
    return {name for name in (record.get("broker"), f"b{str(record.get('live'))[2:]}") if isinstance(name, str)}


def mutations(written: Written, seed: int) -> Iterator[Mutation]:
    chance = random.Random(seed)
    for path in chance.sample(list(written.files), min(len(written.files), chance.choice((1, 1, 2, 3)))):
        lines, touched = list(written.files[path]), set()
        for number in chance.sample(range(len(lines)), min(len(lines), chance.choice((1, 1, 2, 4)))):
            new = damaged_line(chance, lines[number])
            is_start = b'"ev":"start"' in lines[number]
            touched |= (set() if is_start else names_in(lines[number])) | names_in(new)
            lines[number] = new
        yield path, lines, touched


def lost_brokers(written: Written, changed: list[Mutation]) -> set[str]:
    """Brokers that are not restored although no damaged line names them."""
    try:
        for path, lines, _ in changed:
            path.write_bytes(b"".join(line + b"\n" for line in lines))
        restored = restore(written.root, NS, written.epoch_ms, DAY_S)
    finally:
        for path, _, _ in changed:
            path.write_bytes(b"".join(line + b"\n" for line in written.files[path]))
    assert restored is not None
    fill(RouteTables(), restored.routes, DoubtReason.RESTORED, 0, 1)
    touched = set().union(*(names for _, _, names in changed))
    there = {name for name, group in restored.routes.groups.items()
             if group.brokers and name in restored.routes.topics.get("T" + name[1:], ())}  # fmt: skip
    return {f"b{number}" for number in range(BROKERS)} - touched - there


def test_damaged_lines_cost_nothing_but_what_they_said(written: Written, caplog: pytest.LogCaptureFixture) -> None:
    """With ROCKETNS_MUTATED=10000 so many journals; a failure names the seed of one."""
    caplog.set_level(logging.CRITICAL)
    seeds = range(SEED, SEED + MUTATED)
    assert {seed: gone for seed in seeds if (gone := lost_brokers(written, list(mutations(written, seed))))} == {}


@pytest.mark.parametrize("of", ["open", "seal"])
@pytest.mark.parametrize("written", [4_096], ids=["many-files"], indirect=True)
def test_a_number_that_is_much_too_high_does_not_make_the_next_file_a_copy(written: Written, of: str) -> None:
    """Nor is it one because the number of the file is damaged as well."""
    (first, lines), (second, next_lines) = [(path, lines) for path, lines in written.files.items() if path.suffix][:2]
    assert (first.name, second.name) == ("1700000000000-000001.jsonl", "1700000000000-000002.jsonl")
    at = 0 if of == "open" else len(lines) - 1
    high = re.sub(rb'"seq":\d+', b'"seq":9223372036854775807', lines[at])
    nameless = re.sub(rb'"file":\d+', b'"file":null', next_lines[0])
    assert (b'"ev":"%b"' % of.encode() in high, nameless != next_lines[0]) == (True, True)
    changed = [
        (first, [*lines[:at], high, *lines[at + 1 :]], set[str]()),
        (second, [nameless, *next_lines[1:]], set[str]()),
    ]
    assert lost_brokers(written, changed) == set()


def test_damaged_lines_are_counted_and_the_first_is_named(written: Written, caplog: pytest.LogCaptureFixture) -> None:
    path, lines = list(written.files.items())[-1]
    line = {"boot": orjson.loads(lines[0])["boot"], "seq": 5, "ts": 1}
    odd = [b"x", *map(orjson.dumps, (line, line | {"ev": ["reg"]}, line | {"ev": "reg", "cluster": 1}))]
    path.write_bytes(b"\n".join([lines[0], *odd, *lines[5:], b""]))
    try:
        restored = restore(written.root, NS, written.epoch_ms, DAY_S)
    finally:
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    assert restored is not None
    assert (restored.skipped, restored.first_skipped) == (4, (path, 2))
    (warning,) = caplog.messages
    assert warning.startswith(f"4 lines of the journal are damaged and were left out, the first is line 2 of {path}")
