"""kill -9 while the KV file is written: it is whole at the next start, and what was answered is in it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
import time
from pathlib import Path

from interop.harness.servers import NameServer
from tests.behaviour.calls import get_kv, put_kv
from tests.hostile.conftest import StartServer

# ROCKETNS_KILLS=400 for a long look.
KILLS = int(os.environ.get("ROCKETNS_KILLS", "16"))
KEYS = 4
FILLER = {f"filler{number}": "f" * 1000 for number in range(1000)}
UNTIL_KILL_S = 0.08  # several writes of this file


class Putter:
    """Puts rising numbers under one key. ``answered`` and ``sent`` are the last ones."""

    def __init__(self, server: NameServer, key: str, last: int) -> None:
        self.key, self.answered, self.sent = key, last, last
        self._server = server
        self._thread = threading.Thread(target=self._put)
        self._thread.start()

    def _put(self) -> None:
        with contextlib.suppress(OSError), self._server.connect() as client:
            while True:
                self.sent += 1
                put_kv(client, "ns", self.key, str(self.sent))
                self.answered = self.sent

    def join(self) -> None:
        self._thread.join()


def killed_while_putting(server: NameServer, lasts: dict[str, int], after_s: float) -> list[Putter]:
    putters = [Putter(server, key, last) for key, last in lasts.items()]
    time.sleep(after_s)
    server.kill()
    for putter in putters:
        putter.join()
    return putters


def whole(path: Path) -> dict[str, str]:
    table: dict[str, str] = json.loads(path.read_bytes())["configTable"]["ns"]
    assert FILLER.items() <= table.items()
    return table


def test_a_killed_server_leaves_a_whole_file(start_server: StartServer, tmp_path: Path) -> None:
    """B094, B108: after each kill, at a random moment, every value that was answered is there, or a later one."""
    path = tmp_path / "kv.json"
    path.write_text(json.dumps({"configTable": {"ns": FILLER}}), "utf-8")
    server = start_server({"kvConfigPath": path})
    chance = random.Random(10)
    lasts = {f"k{number}": 0 for number in range(KEYS)}
    for _ in range(KILLS):
        putters = killed_while_putting(server, lasts, chance.uniform(0.0, UNTIL_KILL_S))
        table = whole(path)
        for putter in putters:
            assert putter.answered <= int(table.get(putter.key, 0)) <= putter.sent
        if path.with_name("kv.json.bak").exists():
            whole(path.with_name("kv.json.bak"))
        server.start()
        assert {file.name for file in tmp_path.iterdir() if file.is_file()} <= {"kv.json", "kv.json.bak"}
        lasts = {putter.key: int(table.get(putter.key, 0)) for putter in putters}
    with server.connect() as client:
        assert {key: get_kv(client, "ns", key).ext for key in lasts} == {k: {"value": str(v)} for k, v in lasts.items()}
    assert sum(lasts.values()) > KILLS
