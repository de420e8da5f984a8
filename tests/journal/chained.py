"""A journal of some boots with seals, written by the buffer and the writer's thread."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocketns.journal.buffer import Buffer, BufferLimits
from rocketns.journal.segments import Store
from rocketns.journal.writer import Retention, Writer
from rocketns.pipeline.cli.verify import Checked, check

NS = "n1"
BOOT_MS = 1_795_219_200_000
WITHIN_S = 60
FILE_BYTES = 4_000
STOP = b'"ev":"stop"}'


def value(number: int) -> bytes:
    return b'"ev":"kv","ns_key":"n","key":"k","val":"%d"}' % number


@dataclass
class Boot:
    """A started journal. `put` writes records in flushes ten seconds apart."""

    root: Path
    boot: int

    def __post_init__(self) -> None:
        self.writer = Writer(Store(self.root, NS), Retention(0, 0))
        self.buffer = Buffer(self.writer, BufferLimits(1 << 20, FILE_BYTES, 600_000), NS, self.boot)
        self.now_ms = self.boot
        self.writer.start()
        self.buffer.at(self.now_ms)

    def put(self, count: int, per_flush: int = 20) -> Boot:
        for number in range(count):
            self.buffer.put(value(number))
            if number % per_flush == per_flush - 1:
                self.flush()
        return self

    def flush(self) -> None:
        self.now_ms += 10_000
        self.buffer.flush(self.now_ms)
        assert self.writer.wait_until_settled(WITHIN_S)

    def stop(self) -> None:
        self.buffer.close(self.now_ms, STOP)
        assert self.writer.stop(WITHIN_S)

    def kill(self) -> None:
        """What was flushed stays, in a file that is left open."""
        assert self.writer.wait_until_settled(WITHIN_S)
        self.writer.stop(WITHIN_S)


def journal(root: Path, boots: Sequence[str] = ("stop", "kill", "stop"), count: int = 100) -> list[Path]:
    """Files of boots that were stopped or killed, in the order in which they were written."""
    for number, end in enumerate(boots):
        boot = Boot(root, BOOT_MS + number * 3_600_000).put(count)
        boot.stop() if end == "stop" else boot.kill()
    return files(root)


def files(root: Path) -> list[Path]:
    return [path for _, path in Store(root, NS).everything()]


def checked(root: Path) -> Checked:
    return check(root, NS)


def unsealed(path: Path) -> None:
    """Make the file that of an older version: without seals."""
    lines = path.read_bytes().splitlines(keepends=True)
    kept = b"".join(line for line in lines if b'"ev":"seal"' not in line)
    path.write_bytes(re.sub(rb',"prev":"\w+","hash":"\w+"', b"", kept))
