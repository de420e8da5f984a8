"""Replacing a file: at any moment and after any crash, a reader finds the whole old or the whole new content."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketns import files

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


def test_the_backup_is_the_previous_file_itself(path: Path) -> None:
    """Nothing is copied, also after a crash that left both names on one file."""
    inode = path.stat().st_ino
    os.link(path, path.with_name("kv.json.bak"))
    files.replace_with_backup(path, [NEW])
    assert path.with_name("kv.json.bak").stat().st_ino == inode
    assert (path.read_bytes(), names(path)) == (NEW, {"kv.json", "kv.json.bak"})


def test_the_backup_is_a_copy_if_hard_links_fail(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    files.replace_with_backup(path, [NEW])
    assert (path.read_bytes(), path.with_name("kv.json.bak").read_bytes()) == (NEW, OLD)
    assert names(path) == {"kv.json", "kv.json.bak"}


def test_content_that_cannot_be_made_leaves_the_old_one(path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield NEW
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.replace_with_backup(path, broken())
    assert (path.read_bytes(), names(path)) == (OLD, {"kv.json"})


NOT_OURS = (
    "kv.json.1.tmp",
    ".kv.json.tmp",
    ".kv.json.x1.tmp",
    ".other.json.1.tmp",
    ".kv.json.1.tmp.txt",
    ".kvxjson.1.tmp",
)


def test_only_temporary_files_of_killed_processes_are_removed(path: Path) -> None:
    for name in (".kv.json.1.tmp", ".kv.json.4194304.tmp", ".kv.json.bak.77.tmp", *NOT_OURS):
        (path.parent / name).write_bytes(b"half")
    (path.parent / ".kv.json.2.tmp").mkdir()
    (path.parent / ".kv.json.3.tmp").symlink_to(path)
    files.remove_leftovers(path)
    assert names(path) == {"kv.json", ".kv.json.2.tmp", ".kv.json.3.tmp", *NOT_OURS}


def test_a_temporary_file_of_a_running_process_stays(path: Path) -> None:
    """Two servers with one file: the start of one does not remove the other's temporary file."""
    started, goes_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[bytes]:
        started.set()
        assert goes_on.wait(60)
        yield NEW

    thread = threading.Thread(target=files.replace_with_backup, args=(path, slowly()))
    thread.start()
    assert started.wait(60)
    files.remove_leftovers(path)
    goes_on.set()
    thread.join()
    assert (path.read_bytes(), names(path)) == (NEW, {"kv.json", "kv.json.bak"})


def test_a_file_that_somebody_removes_meanwhile_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator removes it between two looks of the writer at it."""
    real = os.link

    def remove_and_link(*names: Any) -> None:
        path.unlink()
        real(*names)

    monkeypatch.setattr(os, "link", remove_and_link)
    files.replace_with_backup(path, [NEW])
    assert path.read_bytes() == NEW


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
