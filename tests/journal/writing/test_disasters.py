"""A real server process in bad conditions: killed while it writes, a full disk, a file in place of the folder."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client, eventually
from tests.behaviour.calls import put_kv
from tests.journal.files import closed_files, contents, is_written, open_files, records_of
from tests.journal.replay import Record, check_columns, check_sequence, kinds

WRITE_MS = 20
ROTATION_BYTES = 20_000
LAST = 5  # puts that a kill may take with it; they have room in the open file
WITHIN_S = 60


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RocketnsServer]]:
    """A server with its journal in ``tmp_path / "j"`` unless told otherwise."""
    started: list[RocketnsServer] = []

    def run(**properties: object) -> RocketnsServer:
        settings = {"journalPath": tmp_path / "j", "journalNs": "n1", "journalFsyncMs": WRITE_MS} | properties
        started.append(RocketnsServer(tmp_path / "ns", settings))
        return started[-1]

    yield run
    for server in started:
        server.kill()


def put_and_written(client: Client, root: Path) -> int:
    """Put the values 0, 1, 2 … until some files are full and all is written, the last into a new one; how many."""
    for number in itertools.count():
        put_kv(client, "ns", "k", str(number))
        if len(closed_files(root)) > 1:
            value = b'"val":"%d"' % number
            eventually(partial(is_written, root, value))
            if any(value in data and len(data) < ROTATION_BYTES // 2 for data in contents(open_files(root))):
                return number + 1
    raise AssertionError


def values(records: list[Record]) -> list[str]:
    return [one["val"] for one in records if one["ev"] == "kv"]


@pytest.mark.parametrize("torn", [b"", b'{"boot":1,"se', b"\0" * 4096])
def test_a_kill_while_it_writes_takes_the_last_moment_only(
    start: Callable[..., RocketnsServer], tmp_path: Path, torn: bytes
) -> None:
    """The next start repairs the file. ``torn`` is a line that reached the disk only in part."""
    server = start(journalRotationBytes=ROTATION_BYTES)
    with server.connect() as client:
        safe = put_and_written(client, tmp_path / "j")
        for number in range(safe, safe + LAST):
            put_kv(client, "ns", "k", str(number))
        server.kill()
    (left,) = open_files(tmp_path / "j")
    before = left.read_bytes()
    with left.open("ab") as file:
        file.write(torn)
    server.start()
    eventually(lambda: not left.exists())
    server.stop()
    whole = before[: before.rfind(b"\n") + 1]
    assert left.with_name(left.name.removeprefix(".open-") + ".jsonl").read_bytes() == whole
    boots = [list(some) for _, some in itertools.groupby(records_of(tmp_path / "j"), lambda one: one["boot"])]
    assert [kinds(some)[1] for some in boots] == ["start", "start"]
    assert [kinds(some)[-1] in end for some, end in zip(boots, (("kv", "admin"), ("stop",)), strict=True)] == [True] * 2
    for some in boots:
        check_sequence(some)
    written = values(boots[0])
    assert written == [str(number) for number in range(len(written))]
    assert safe <= len(written) <= safe + LAST


def put_large(client: Client, number: int) -> None:
    assert (
        client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": f"{number}".rjust(2_000)}).code
        == 0
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB, all but 128 KiB of which a file takes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "journal-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no permission to mount a small file system here")
    (folder / "ballast").write_bytes(b"x" * 384 * 1024)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_survived_and_what_it_cost_is_stated(
    small_disk: Path, start: Callable[..., RocketnsServer]
) -> None:
    root = small_disk / "j"
    server = start(journalPath=root, journalBufferBytes=65_536)
    with server.connect() as client:
        for number in range(200):  # 400 KB of records
            put_large(client, number)
        eventually(lambda: "the journal cannot be written" in server.process.text(), WITHIN_S)
        eventually(lambda: "records are lost" in server.process.text(), WITHIN_S)
        (small_disk / "ballast").unlink()
        eventually(lambda: "can be written again" in server.process.text(), WITHIN_S)
        eventually(lambda: "records of the journal were lost, up to seq" in server.process.text(), WITHIN_S)
        eventually(lambda: is_written(root, b'"ev":"drop"'), WITHIN_S)
        put_large(client, 200)
    assert server.stop() == 0
    said = server.process.text()
    assert said.count("the journal cannot be written") == 1
    records = records_of(root)
    for one in records:
        check_columns(one)
    check_sequence(records)
    lost = sum(one["lost"] for one in records if one["ev"] == "drop")
    kept = [int(value) for value in values(records)]
    assert lost > 0
    assert kept[-1] == 200
    assert (
        len(kept) + sum(one["ev"] == "admin" for one in records) + lost == 2 * 201
    )  # each has a record of its request
    assert records[-1]["ev"] == "stop"


def test_a_folder_that_cannot_be_written_holds_up_nothing(start: Callable[..., RocketnsServer], tmp_path: Path) -> None:
    in_the_way = tmp_path / "j"
    in_the_way.write_text("no folder")
    server = start()
    with server.connect() as client:
        put_kv(client, "ns", "first", "1")
        eventually(lambda: "the journal cannot be written" in server.process.text())
        in_the_way.unlink()
        eventually(lambda: open_files(in_the_way))
        put_kv(client, "ns", "last", "1")
    assert server.stop() == 0
    assert server.process.text().count("the journal cannot be written") == 1
    records = records_of(in_the_way)
    check_sequence(records)
    assert [one["ev"] for one in records[:2]] == ["open", "start"]
    assert records[-1]["ev"] == "stop"


def test_a_stop_does_not_wait_for_a_folder_that_cannot_be_written(
    start: Callable[..., RocketnsServer], tmp_path: Path
) -> None:
    (tmp_path / "j").write_text("no folder")
    server = start()
    assert server.stop() == 0  # it would be killed after a minute
    assert "could not be written before the stop" in server.process.text()


def test_two_servers_with_one_id_do_not_touch_each_others_files(
    start: Callable[..., RocketnsServer], tmp_path: Path
) -> None:
    first, second = start(), start(kvConfigPath=tmp_path / "kv2.json")
    eventually(lambda: "the journal cannot be written" in second.process.text())
    with first.connect() as client:
        put_kv(client, "ns", "k", "v")
    assert first.stop() == 0
    check_sequence(records_of(tmp_path / "j"))
    eventually(lambda: open_files(tmp_path / "j"))
    assert second.stop() == 0
    assert len(closed_files(tmp_path / "j")) == 2
