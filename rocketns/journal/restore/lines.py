"""The records of one file, one after another. Whatever is in it, it is read within bounds and without an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

# Longer records are passed over. Topics of 16 MiB whose characters all need an escape have such records, and KV items.
LINE_BYTES_MAX = 32 * 1024 * 1024
# What restoring does not need is not decoded.
_PASSED_OVER = re.compile(rb'\{"boot":(\d{1,18}),"seq":(\d{1,18}),"ts":-?\d{1,18},"ev":"(?:lookup|kv|config)"')

Record = dict[str, Any]


class File:
    """`records` reads a file of one boot. ``damaged``: something in it was no record of that boot, or too long.

    ``torn``: its last line has no end. ``bytes`` and ``lines`` count what was read.
    """

    def __init__(self, path: Path, boot: int) -> None:
        self.path = path
        self.damaged = False
        self.torn = False
        self.bytes = 0
        self.lines = 0
        self._boot = boot

    def records(self) -> Iterator[Record]:
        """Of records that restoring does not need, only boot and seq. OSError if the file cannot be read."""
        with self.path.open("rb", buffering=1 << 20) as file:
            for line in self._whole_lines(file):
                record = self._record(line)
                if record is None:
                    self.damaged = True
                else:
                    yield record

    def _whole_lines(self, file: BinaryIO) -> Iterator[bytes]:
        while line := file.readline(LINE_BYTES_MAX):
            self.bytes += len(line)
            self.lines += 1
            if line.endswith(b"\n"):
                yield line
            elif len(line) < LINE_BYTES_MAX:
                self.torn = True
            else:
                self.damaged = True

    def _record(self, line: bytes) -> Record | None:
        passed_over = _PASSED_OVER.match(line)
        if passed_over is not None:
            boot, seq = int(passed_over[1]), int(passed_over[2])
            return {"boot": boot, "seq": seq, "ev": None} if boot == self._boot else None
        try:
            record = orjson.loads(line)
        except ValueError:
            return None
        is_record = isinstance(record, dict) and record.get("boot") == self._boot and type(record.get("seq")) is int
        return record if is_record else None
