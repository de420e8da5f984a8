"""kill -9 while files are written: at the next start each is whole and has every answered change."""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import javaproperties
import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.calls import get_kv, put_kv, update_settings
from tests.hostile.conftest import StartServer

# Control and the threads of the files write; what reactors do is over before.

# ROCKETNS_KILLS=1000 for a long run.
KILLS = int(os.environ.get("ROCKETNS_KILLS", "8"))
KEYS = 4
FILLER = {f"filler{number}": "f" * 1000 for number in range(1000)}
ANSWERS_UNTIL_KILL = 30  # several writes of each file
# A write every 20 ms, and a new file after some of them.
JOURNAL = {"journalNs": "killed", "journalFsyncMs": 20, "journalRotationBytes": 4096}
Tell = Callable[[Client, str, str], None]


class Putter:
    """Sets rising numbers under one key. ``answered`` and ``sent`` are the last ones."""

    def __init__(self, server: NameServer, tell: Tell, key: str, last: int) -> None:
        self.key, self.answered, self.sent = key, last, last
        self._server, self._tell = server, tell
        self._thread = threading.Thread(target=self._put)
        self._thread.start()

    def _put(self) -> None:
        with contextlib.suppress(OSError), self._server.connect() as client:
            while True:
                self.sent += 1
                self._tell(client, self.key, str(self.sent))
                self.answered = self.sent

    def join(self) -> None:
        self._thread.join()


def put_item(client: Client, key: str, value: str) -> None:
    put_kv(client, "ns", key, value)


def set_property(client: Client, key: str, value: str) -> None:
    assert update_settings(client, f"{key}={value}\n").code == codes.SUCCESS


def killed_while_writing(
    server: NameServer, lasts: dict[str, int], properties: dict[str, int], answers: int, journal: Path | None
) -> tuple[list[Putter], list[Putter]]:
    """The writers of KV items and of properties. With a ``journal`` the time begins when each file was written."""
    before = bytes_in(journal) if journal else 0
    putters = [Putter(server, put_item, key, last) for key, last in lasts.items()]
    setters = [Putter(server, set_property, key, last) for key, last in properties.items()]
    begun = {one.key: one.answered for one in [*putters, *setters]}
    if journal:
        eventually(lambda: all(one.answered > begun[one.key] + 1 for one in [*putters, *setters]))
        eventually(lambda: bytes_in(journal) > before)
    eventually(lambda: sum(one.answered - begun[one.key] for one in [*putters, *setters]) >= answers, every_s=0.001)
    server.kill()
    for putter in [*putters, *setters]:
        putter.join()
    return putters, setters


def bytes_in(journal: Path) -> int:
    """The size of all its files; a file that is renamed meanwhile does not count."""
    total = 0
    for path in journal.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def whole(path: Path) -> dict[str, str]:
    table: dict[str, str] = json.loads(path.read_bytes())["configTable"]["ns"]
    assert FILLER.items() <= table.items()
    return table


def whole_properties(path: Path, first: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = javaproperties.loads(path.read_text("utf-8"))
    assert {key: found.get(key) for key in first} == first
    return found


def records(journal: Path) -> dict[int, list[int]]:
    """The sequence numbers of each boot, from files that are closed; a line that is no record fails."""
    found: dict[int, list[int]] = {}
    for path in sorted(journal.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            found.setdefault(record["boot"], []).append(record["seq"])
    return found


def take_last(putters: list[Putter], found: dict[str, str]) -> dict[str, int]:
    """The last numbers by key. Each was answered, or sent after it."""
    for putter in putters:
        assert putter.answered <= int(found.get(putter.key, 0)) <= putter.sent
    return {putter.key: int(found.get(putter.key, 0)) for putter in putters}


# Of all kills together: the next write has the name of what a killed one left.
FILES = {"kv.json", "kv.json.bak", ".kv.json.tmp", ".kv.json.bak.tmp"}


@pytest.mark.slow
def test_a_killed_server_leaves_whole_files(start_server: StartServer, tmp_path: Path) -> None:
    """B094, B108: after each kill at a random moment, every answered KV item and property has its value or a later
    one. In the journal no record is torn, missing within a boot, or repeated."""
    path, journal = tmp_path / "kv.json", tmp_path / "journal"
    path.write_text(json.dumps({"configTable": {"ns": FILLER}}), "utf-8")
    server = start_server({"kvConfigPath": path, "journalPath": journal, "own": 0, **JOURNAL})
    first = {"kvConfigPath": str(path), "journalPath": str(journal), "journalNs": str(JOURNAL["journalNs"])}
    chance = random.Random(10)
    lasts, properties = {f"k{number}": 0 for number in range(KEYS)}, {"own": 0}
    for number in range(KILLS):
        answers = chance.randrange(1, ANSWERS_UNTIL_KILL)
        # Every second kill may come before the first write.
        putters, setters = killed_while_writing(server, lasts, properties, answers, None if number % 2 else journal)
        lasts = take_last(putters, whole(path))
        properties = take_last(setters, whole_properties(server.config_path, first))
        if path.with_name("kv.json.bak").exists():
            whole(path.with_name("kv.json.bak"))
        server.start()
        assert {file.name for file in tmp_path.iterdir() if file.is_file()} <= FILES
    with server.connect() as client:
        assert {key: get_kv(client, "ns", key).ext for key in lasts} == {k: {"value": str(v)} for k, v in lasts.items()}
    assert sum(lasts.values()) > KILLS
    assert properties["own"] > KILLS / 4
    server.stop()
    boots = records(journal)
    assert len(boots) >= KILLS / 2  # a process that was killed before its first write has no file
    assert [boot for boot, seqs in boots.items() if any(b != a + 1 for a, b in pairwise(seqs))] == []
