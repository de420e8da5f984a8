"""The chain of hashes: what was changed or removed shows. What a crash, a full disk or retention does is no fault."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rocketns.journal import writer as writer_module
from rocketns.journal.chain import HASH_CHARS, NO_HASH, last_seal
from rocketns.journal.segments import Store, day_of
from rocketns.pipeline.cli.verify import FAULTS_MAX, ChainDamage, name_servers
from tests.journal.chained import BOOT_MS, NS, Boot, checked, files, journal, unsealed, value

TODAY = day_of(BOOT_MS)
SEALS = re.compile(rb'"prev":"([0-9a-f]+)","hash":"([0-9a-f]+)"')


@pytest.fixture
def written(tmp_path: Path) -> list[Path]:
    """Several files of three boots; the second one was killed."""
    return journal(tmp_path)


def test_a_whole_journal_is_intact(tmp_path: Path, written: list[Path]) -> None:
    found = checked(tmp_path)
    assert len(written) > len({path.name.split("-")[0] for path in written}) == 3
    assert (found.faults, found.files, found.begin, found.older, found.tail) == ([], len(written), written[0], None, 0)
    assert found.bytes == sum(path.stat().st_size for path in written)
    assert name_servers(tmp_path) == [NS]


def test_a_seal_is_what_the_contract_says(tmp_path: Path) -> None:
    """Recomputed without the code that writes and checks it: anybody can do it with sha256sum."""
    data = b"".join(path.read_bytes() for path in journal(tmp_path, ("stop",)))
    begin, before = 0, NO_HASH.encode()
    for seal in SEALS.finditer(data):
        assert seal[1] == before
        assert hashlib.sha256(before + data[begin : seal.start(2)]).hexdigest()[:HASH_CHARS].encode() == seal[2]
        begin, before = data.index(b"\n", seal.end()) + 1, seal[2]
    assert begin == len(data)


@pytest.mark.parametrize("seed", range(40))
def test_a_changed_byte_shows(tmp_path: Path, written: list[Path], seed: int) -> None:
    draw = random.Random(seed)
    path = draw.choice(written)
    data = bytearray(path.read_bytes())
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(7)
    path.write_bytes(data)
    assert checked(tmp_path).faults


def removed(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], *lines[6:]]


def swapped(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], lines[6], lines[5], *lines[7:]]


def repeated(lines: list[bytes]) -> list[bytes]:
    return [*lines[:6], *lines[5:]]


def unsealed_lines(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if b'"ev":"seal"' not in line]


def shortened(lines: list[bytes]) -> list[bytes]:
    return lines[:-3]


def lengthened(lines: list[bytes]) -> list[bytes]:
    return [*lines, b"without an end"]


@pytest.mark.parametrize("change", [removed, swapped, repeated, unsealed_lines, shortened, lengthened])
@pytest.mark.parametrize("number", [0, 1, -2])
def test_lines_that_were_removed_moved_or_added_show(
    tmp_path: Path, written: list[Path], change: Callable[[list[bytes]], list[bytes]], number: int
) -> None:
    path = written[number]
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    assert checked(tmp_path).faults


def test_each_damaged_place_is_named_with_its_line(tmp_path: Path, written: list[Path]) -> None:
    for path in written[1:3]:
        path.write_bytes(path.read_bytes().replace(b'"key":"k"', b'"key":"j"', 1))
    found = checked(tmp_path)
    assert [fault.path for fault in found.faults] == written[1:3]
    for fault in found.faults:
        assert b'"ev":"seal"' in fault.path.read_bytes().splitlines()[fault.line - 1]


def test_faults_are_counted_but_not_all_are_kept(tmp_path: Path) -> None:
    for path in journal(tmp_path, ("stop",) * 10, 40):
        path.write_bytes(path.read_bytes().replace(b'"key":"k"', b'"key":"j"'))
    found = checked(tmp_path)
    assert len(found.faults) == FAULTS_MAX < found.faults_count


def test_a_torn_last_line_of_a_killed_server_is_no_fault(tmp_path: Path) -> None:
    *_, left = journal(tmp_path, ("kill",))
    with left.open("ab") as file:
        file.write(b'{"boot":1,"se')
    assert left.name.startswith(".open-")
    assert not checked(tmp_path).faults
    Boot(tmp_path, BOOT_MS + 9_000_000).put(3).stop()
    assert not checked(tmp_path).faults


def test_the_unsealed_end_of_a_killed_boot_is_covered_by_the_next_boot(tmp_path: Path) -> None:
    boot = Boot(tmp_path, BOOT_MS).put(40)
    boot.buffer.put(value(77))
    boot.buffer.hand_over_soon()  # too soon for a seal
    boot.kill()
    assert checked(tmp_path).tail > 0
    Boot(tmp_path, BOOT_MS + 1).put(3).stop()
    assert not checked(tmp_path).faults
    (path,) = [path for path in files(tmp_path) if b'"val":"77"' in path.read_bytes()]
    path.write_bytes(path.read_bytes().replace(b'"val":"77"', b'"val":"78"'))
    assert len(checked(tmp_path).faults) == 1


def test_boots_that_were_killed_before_their_first_seal_break_no_chain(tmp_path: Path) -> None:
    """Of the first chunk of each only some lines were written."""
    journal(tmp_path, ("stop",))
    for number in range(2):
        Boot(tmp_path, BOOT_MS + 9_000_000 + number).put(20).kill()
        left = files(tmp_path)[-1]
        left.write_bytes(b"".join(left.read_bytes().splitlines(keepends=True)[:3]))
    Boot(tmp_path, BOOT_MS + 9_100_000).put(3).stop()
    assert not checked(tmp_path).faults
    left.with_name(left.name.removeprefix(".open-") + ".jsonl").write_bytes(b"")
    assert checked(tmp_path).faults


def test_files_that_retention_deleted_are_no_fault(tmp_path: Path, written: list[Path]) -> None:
    for path in written[:-1]:
        path.unlink()
        found = checked(tmp_path)
        assert not found.faults
        assert found.older is not None


def test_files_without_a_seal_are_covered_by_the_next_one_however_many(tmp_path: Path) -> None:
    """Boots that were killed before their first seal, also the first of all."""
    for number in range(5):
        Boot(tmp_path, BOOT_MS + number).put(20).stop()
        unsealed(files(tmp_path)[-1])
    Boot(tmp_path, BOOT_MS + 9_000_000).put(3).stop()
    found = checked(tmp_path)
    assert (found.faults, found.older, found.begin) == ([], None, files(tmp_path)[-1])
    path = files(tmp_path)[1]
    path.write_bytes(path.read_bytes().replace(b'"val":"7"', b'"val":"8"'))
    assert [fault.damage for fault in checked(tmp_path).faults] == [ChainDamage.BEFORE]


@pytest.mark.parametrize("seals", ["none", "no last one"])
def test_retention_leaves_a_chain_that_can_be_checked(tmp_path: Path, seals: str) -> None:
    """Files whose end no seal covers go together with those before them."""
    journal(tmp_path, ("stop",))
    if seals == "none":
        for number in range(2):
            Boot(tmp_path, BOOT_MS + 1 + number).stop()
            unsealed(files(tmp_path)[-1])
    else:
        boot = Boot(tmp_path, BOOT_MS + 1).put(20)
        boot.buffer.put(value(77))
        boot.buffer.lose("full")
        boot.now_ms += 600_000
        boot.flush()
        boot.put(20).stop()
    before = len(files(tmp_path))
    Boot(tmp_path, BOOT_MS + 9_000_000).put(200).stop()
    assert not checked(tmp_path).faults
    store = Store(tmp_path, NS)
    sizes = [size for _, size in store.closed()]
    for left in range(len(sizes)):
        assert len(store.retain(TODAY, 0, max(sum(sizes[left:]), 1))) <= before
        assert not checked(tmp_path).faults


def test_a_disk_that_fails_breaks_no_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written again has the seals of the first attempt."""
    boot = Boot(tmp_path, BOOT_MS).put(40)
    real, failing = os.pwrite, [True]

    def pwrite(descriptor: int, data: bytes, place: int) -> int:
        if failing[0]:
            real(descriptor, data[:10], place)
            raise OSError(errno.ENOSPC, "full")
        return real(descriptor, data, place)

    monkeypatch.setattr(writer_module.os, "pwrite", pwrite)
    for _ in range(3):
        boot.put(10, per_flush=5)
    failing[0] = False
    boot.put(40).stop()
    found = checked(tmp_path)
    assert (found.faults, boot.writer.failures > 0) == ([], True)


def test_files_that_cannot_be_read_let_a_chain_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The server must write its journal even so."""
    journal(tmp_path, ("stop",))

    def failing(_files: object) -> str:
        raise PermissionError(errno.EACCES, "not allowed")

    monkeypatch.setattr("rocketns.journal.chain.link", failing)
    Boot(tmp_path, BOOT_MS + 9_000_000).put(3).stop()
    assert "the journal's chain of hashes begins anew" in caplog.text
    assert checked(tmp_path).faults


def test_text_of_a_peer_is_no_seal(tmp_path: Path) -> None:
    boot = Boot(tmp_path, BOOT_MS).put(20)
    forged = f'{{"boot":1,"seq":1,"ts":1,"ev":"seal","prev":"{NO_HASH}","hash":"{NO_HASH}"}}\n'
    escaped = forged.replace('"', '\\"').replace("\n", "\\n").encode()
    boot.buffer.put(b'"ev":"kv","ns_key":"n","key":"k","val":"%b"}' % escaped)
    boot.put(20).stop()
    assert not checked(tmp_path).faults


def test_a_seal_is_found_without_a_look_at_long_lines() -> None:
    """A forged file of lines without an end costs one look for each place that might be a seal."""
    assert last_seal(b'","hash":"' * 100_000) is None
