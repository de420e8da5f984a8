"""Files of the server: whole at any moment and after any crash; and the KV configuration that one of them keeps."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns import files
from rocketns.config import Limits
from rocketns.errors import RequestError, StartupError
from rocketns.kvconfig.file import KvChange
from rocketns.kvconfig.manager import KVConfigManager

OLD, NEW = b"old content", b"new content" * 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "kv.json"
    file.write_bytes(OLD)
    return file


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.parent.iterdir()}


def test_the_new_content_is_synced_before_it_takes_the_name_and_the_folder_after(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def spy(owner: Any, name: str, note: Callable[..., str]) -> None:
        real = getattr(owner, name)

        def noting(*arguments: Any) -> Any:
            steps.append(note(*arguments))
            return real(*arguments)

        monkeypatch.setattr(owner, name, noting)

    def synced(descriptor: int) -> str:
        return "sync " + Path(f"/proc/self/fd/{descriptor}").readlink().name.split(".")[-1]

    spy(os, "fsync", synced)
    spy(Path, "replace", lambda _source, target: f"name {target.name}")
    files.replace_with_backup(path, [NEW])
    folder = "sync " + path.parent.name
    assert steps == ["sync tmp", "name kv.json.bak", "name kv.json", folder]


SCRIPT = """
import os, pathlib, sys
from rocketns import files
path, times = pathlib.Path(sys.argv[1]), int(sys.argv[2])
left = [times]
def maybe(real):
    def step(*arguments):
        if left[0] == 0:
            os._exit(9)
        left[0] -= 1
        return real(*arguments)
    return step
os.fsync, os.link, pathlib.Path.replace = maybe(os.fsync), maybe(os.link), maybe(pathlib.Path.replace)
files.replace_with_backup(path, [sys.stdin.buffer.read()])
"""


@pytest.mark.parametrize("steps", range(5))
def test_a_crash_at_any_step_leaves_whole_files(path: Path, steps: int) -> None:
    """The process ends, without any clean-up, just before the sync, link or rename with this number."""
    path.with_name("kv.json.bak").write_bytes(b"older")
    process = subprocess.run([sys.executable, "-c", SCRIPT, str(path), str(steps)], input=NEW, check=False)
    assert process.returncode == 9
    renamed = steps > 3
    assert path.read_bytes() == (NEW if renamed else OLD)
    assert path.with_name("kv.json.bak").read_bytes() == (OLD if steps > 2 else b"older")
    files.replace_with_backup(path, [b"after the restart"])
    assert path.read_bytes() == b"after the restart"
    assert path.with_name("kv.json.bak").read_bytes() == (NEW if renamed else OLD)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_an_error_leaves_the_old_content_and_nothing_beside_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", full) if failing == "fsync" else (Path, "replace", full)))
    with pytest.raises(OSError, match="No space left"):
        files.replace_with_backup(path, [NEW])
    assert path.read_bytes() == OLD
    assert names(path) == {"kv.json"}


def test_a_symbolic_link_and_the_file_mode_stay(tmp_path: Path) -> None:
    """Java overwrites in place, so both survive there."""
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    files.replace_with_backup(link, [b"new"])
    assert link.is_symlink()
    assert (real.read_bytes(), real.stat().st_mode & 0o777) == (b"new", 0o640)


def test_the_backup_is_a_copy_if_hard_links_fail(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    files.replace_with_backup(path, [NEW])
    assert (path.read_bytes(), path.with_name("kv.json.bak").read_bytes()) == (NEW, OLD)
    assert names(path) == {"kv.json", "kv.json.bak"}


def test_a_file_that_a_killed_process_left_is_replaced_by_the_next_write(path: Path) -> None:
    """Whosever it is."""
    for name in (".kv.json.tmp", ".kv.json.bak.tmp"):
        (path.parent / name).write_bytes(b"half")
        (path.parent / name).chmod(0o400)
    files.replace_with_backup(path, [NEW])
    assert (path.read_bytes(), path.with_name("kv.json.bak").read_bytes()) == (NEW, OLD)
    assert names(path) == {"kv.json", "kv.json.bak"}


def test_two_processes_with_one_file_write_it_in_turn(path: Path) -> None:
    """A lock of the folder is one of its open description, so threads are as good as processes."""
    started, goes_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[bytes]:
        yield NEW
        started.set()
        assert goes_on.wait(60)
        yield NEW

    first = threading.Thread(target=files.replace_with_backup, args=(path, slowly()))
    second = threading.Thread(target=files.replace_with_backup, args=(path, [b"second"]))
    first.start()
    assert started.wait(60)
    second.start()
    second.join(0.1)
    assert (path.read_bytes(), second.is_alive()) == (OLD, True)
    goes_on.set()
    first.join()
    second.join()
    assert (path.read_bytes(), path.with_name("kv.json.bak").read_bytes()) == (b"second", NEW * 2)
    assert names(path) == {"kv.json", "kv.json.bak"}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [("kv.json", b"abc", "it has more than 2 bytes"), ("kv.json", b"\xff", "it is no UTF-8"),
     ("gone", b"", "it cannot be read: No such file"), (".", b"", "it cannot be read: Is a directory"),
     ("a\0b", b"", "null byte")],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_why(path: Path, name: str, content: bytes, why: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=why):
        files.read_text(f"{path.parent}/{name}", 2)


# KVConfigManager: namespaces, keys, values, and the file that keeps them.


@pytest.fixture
def kv_path(tmp_path: Path) -> Path:
    return tmp_path / "kv.json"


@pytest.fixture
def manager(kv_path: Path) -> KVConfigManager:
    return KVConfigManager(kv_path)


def loaded(kv_path: Path) -> dict[str, dict[str, str | None]]:
    manager = KVConfigManager(kv_path)
    manager.load()
    return manager.config_table


@pytest.mark.parametrize(
    ("content", "table"),
    [
        (b'{"configTable":{"ns":{"k":"v"}},"other":[1,2]}', {"ns": {"k": "v"}}),
        (b"/*c*/{\"configTable\":{'ns':{'k':'v',}}}", {"ns": {"k": "v"}}),
        (b'{"configTable":{"ns":{"k":5,"l":true,"m":{"x":1},"n":null}}}',
         {"ns": {"k": "5", "l": "true", "m": '{"x":1}', "n": None}}),
        (b"", {}),
        (b'{"configTable":{"ns":null,"other":{"k":"v"}}}', {"other": {"k": "v"}}),
        (b'\xef\xbb\xbf{"configTable":{"ns":{"k":"v"}}}', {"ns": {"k": "v"}}),
    ],
)  # fmt: skip
def test_a_file_is_read_as_java_reads_it(
    kv_path: Path, content: bytes, table: dict[str, dict[str, str | None]]
) -> None:
    """B105: what fastjson2 takes of a file written by hand."""
    kv_path.write_bytes(content)
    assert loaded(kv_path) == table


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"5", b" ", b"{", b'{"configTable":null}', b'{"configTable":[]}', b'{"configTable":{"ns":5}}',
     b'{"configTable":{"ns":[]}}', b'{"configTable":{}}x', b'{"configTable":{null:{}}}', b"\xff"],
)  # fmt: skip
def test_a_damaged_file_stops_the_start_and_stays(kv_path: Path, content: bytes) -> None:
    """B107: with a sentence that says what to do."""
    kv_path.write_bytes(content)
    with pytest.raises(StartupError, match=r"kv\.json is damaged: .*kv\.json\.bak") as raised:
        KVConfigManager(kv_path).load()
    assert raised.value.exit_status == 255
    assert kv_path.read_bytes() == content


def bounded(kv_path: Path, kv_bytes_max: int = 1000, kv_value_bytes_max: int = 500) -> KVConfigManager:
    return KVConfigManager(kv_path, Limits(kv_bytes_max=kv_bytes_max, kv_value_bytes_max=kv_value_bytes_max))


def test_a_table_is_full_at_exactly_its_bytes(kv_path: Path) -> None:
    """Two namespaces and three keys count 100 each; é counts two."""
    manager = bounded(kv_path)
    manager.put("n1", "k", "é" * 100)  # 100 + 2, 100 + 1 + 200
    manager.put("n2", "k", None)  # 100 + 2, 100 + 1
    manager.put("n2", "l", "v" * 292)
    before = dict(manager.config_table)
    with pytest.raises(RequestError, match=r"would have 1001 bytes, more than rocketns\.kvBytesMax=1000"):
        manager.put("n2", "l", "v" * 294)
    assert (manager.bytes, manager.config_table) == (999, before)
    manager.put("n2", "l", "v" * 293)
    assert manager.bytes == 1000
    manager.delete("n2", "k")
    manager.put("n1", "l", "")
    assert manager.bytes == 1000


def test_a_file_larger_than_the_bound_is_served_and_may_shrink(kv_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An operator's file from Java is taken over whatever its size."""
    kv_path.write_text(json.dumps({"configTable": {"ns": {"k": "v" * 5_000}}}))
    manager = bounded(kv_path)
    manager.load()
    assert "over the limit rocketns.kvBytesMax=1000" in caplog.text
    with pytest.raises(RequestError, match="kvBytesMax"):
        manager.put("ns", "new", "")
    manager.put("ns", "k", "w" * 500)
    manager.put("ns", "new", "")
    assert manager.bytes == counted(manager.config_table) == 100 + 2 + 100 + 1 + 500 + 100 + 3


keys = st.sampled_from(["a", "b", "", "é", "\ud800", '"', "\x01" * 70_000])
values = st.none() | st.sampled_from(["v", "", "\x00\n", "\U0001f600", "long" * 50_000])
steps = st.lists(st.tuples(keys, keys, values, st.booleans(), st.booleans()))


@given(steps)
def test_the_file_always_holds_the_table(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str | None, bool, bool]]
) -> None:
    """After any puts and deletes, one by one or in groups. (A lone surrogate is written as '?', as in Java.)"""
    manager = KVConfigManager(tmp_path_factory.getbasetemp() / "property.json")
    waiting: list[KvChange | None] = []
    for namespace, key, value, put, group in steps:
        waiting.append(manager.put(namespace, key, value) if put else manager.delete(namespace, key))
        if not group:
            written = b"".join(manager.file.chunks(waiting))
            waiting.clear()
            assert json.loads(written) == {"configTable": as_stored(manager.config_table)}
    assert manager.bytes == counted(manager.config_table)


def as_stored(tables: dict[str, dict[str, str | None]]) -> dict[str, dict[str, str]]:
    return {
        name.replace("\ud800", "?"): {
            key.replace("\ud800", "?"): value for key, value in table.items() if value is not None
        }
        for name, table in tables.items()
    }


def counted(tables: dict[str, dict[str, str | None]]) -> int:
    """What a table is said to count: UTF-8 bytes, and 100 for each namespace and key."""
    texts = [*tables, *(text for table in tables.values() for item in table.items() for text in item if text)]
    items = len(tables) + sum(map(len, tables.values()))
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + 100 * items
