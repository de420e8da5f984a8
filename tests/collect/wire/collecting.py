"""`rocketns collect` as a process, the journals that it writes, and what it asked."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from interop.harness.process import Process
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from rocketns.journal.reading.replay import Replay
from rocketns.routeinfo.unconfirmed.known import KnownRoutes

Record = dict[str, Any]


class Collecting:
    """Started on construction. ``names``: the name servers as the option takes them."""

    def __init__(self, home: Path, names: str, *options: str, env: dict[str, str] | None = None) -> None:
        home.mkdir(exist_ok=True)
        self.journal = home / "journal"
        self._command = [sys.executable, "-m", "rocketns", "collect", "--name-servers", names,
                         "--journal", str(self.journal), "--interval", "1s", *options]  # fmt: skip
        self._home, self._env = home, env or {}
        self.start()

    def start(self) -> None:
        """Again, after `stop` or `kill`."""
        self.process = Process(self._command, self._home / "collect.log", self._env)

    def stop(self) -> int:
        return self.process.stop()

    def kill(self) -> int:
        return self.process.kill()

    def records(self, ns: str, *kinds: str) -> list[Record]:
        """All records of a name server, or those of some kinds, in their order."""
        files = sorted(self.journal.glob(f"v=1/dt=*/ns={ns}/*"), key=lambda path: path.name.removeprefix(".open-"))
        lines = [line for path in files for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        records = [json.loads(line) for line in lines]
        return [record for record in records if not kinds or record["ev"] in kinds]

    def until(self, ns: str, kind: str, count: int = 1, **columns: Any) -> Record:
        """Wait for so many records of a kind with these values; the last of them."""

        def found() -> list[Record]:
            return [one for one in self.records(ns, kind) if columns.items() <= one.items()]

        eventually(lambda: len(found()) >= count)
        return found()[-1]

    def routes(self, ns: str) -> KnownRoutes:
        """What the journal gives."""
        replay = Replay()
        for record in self.records(ns):
            replay.apply(record)
        assert replay.refused == 0
        return replay.routes


def addr(server: NameServer) -> str:
    return f"127.0.0.1:{server.port}"


def codes_of(sent: Iterable[bytes | bytearray]) -> set[int]:
    """The codes of all whole requests in the bytes of some connections."""
    found = set()
    for data in sent:
        at = 0
        while at + 8 <= len(data):
            length, word = struct.unpack_from(">iI", data, at)
            if at + 4 + length > len(data):
                break
            found.add(json.loads(data[at + 8 : at + 8 + (word & 0xFFFFFF)])["code"])
            at += 4 + length
    return found
