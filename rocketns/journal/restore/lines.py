"""The records of one file, one after another. Whatever is in it, it is read within bounds and without an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from rocketns._fast.routes.recorded_queues import read_queues
from rocketns.journal import encoding
from rocketns.journal.reading.lines import INT_MAX, Record, record_of
from rocketns.journal.reading.replay import Queues
from rocketns.journal.record import KINDS
from rocketns.protocol.body.route import QueueData, queue_data

# Longer records are skipped. Only topics of 16 MiB whose characters all need an escape have such records, and KV items.
LINE_BYTES_MAX = 32 * 1024 * 1024
# ``open`` and ``start``, behind a damaged line or two.
FIRST_RECORDS = 3
# What restoring does not need is not decoded.
_NOT_NEEDED = "|".join(name for name, kind in KINDS.items() if kind.restoring is None).encode()
_PASSED_OVER = re.compile(
    rb'\{"boot":(\d{1,18}),"seq":(\d{1,18}),"ts":-?\d{1,18},(?:"since":-?\d{1,18},)?"ev":"(?:%b)"' % _NOT_NEEDED
)

# Where the queues of topics begin. Within a text the quotes would be escaped.
_TOPICS = b',"topics":['
_NUMBERS = re.compile(rb'","r":(0|-?[1-9]\d{0,9}),"w":(0|-?[1-9]\d{0,9}),"p":(0|-?[1-9]\d{0,9}),"s":(0|-?[1-9]\d{0,9})')
_QUEUE_KINDS_MAX = 4096


_END = {"boot", "seq", "ts", "ev", "snap", "part", "end"}
_OF_OBSERVERS = {"looked", "no_topics"}


def is_snapshot_end(record: Record) -> bool:
    """Whether it is the last record of a snapshot, which has nothing else of the state."""
    return record.get("end") is True and record.keys() - _OF_OBSERVERS == _END


class File:
    """`records` reads a file of one boot. ``torn``: its last line has no end.

    ``bytes`` and ``lines`` count what was read, ``skipped`` the lines that are no record of that boot, or too long;
    ``first_skipped`` is the number of the first of them.
    """

    def __init__(self, path: Path, boot: int) -> None:
        self.path = path
        self.torn = False
        self.bytes = 0
        self.lines = 0
        self.skipped = 0
        self.first_skipped = 0
        self._boot = boot

    def records(self) -> Iterator[Record]:
        """Of records that restoring does not need, only boot and seq. OSError if the file cannot be read."""
        with self.path.open("rb", buffering=1 << 20) as file:
            for line in self._whole_lines(file):
                record = self._record(line)
                if record is None:
                    self.skip()
                else:
                    yield record

    def first_records(self) -> Iterator[Record]:
        """The records that say how a boot begins, read for themselves."""
        return islice(File(self.path, self._boot).records(), FIRST_RECORDS)

    def skip(self) -> None:
        """The line that was read last is no record."""
        self.skipped += 1
        self.first_skipped = self.first_skipped or self.lines

    def _whole_lines(self, file: BinaryIO) -> Iterator[bytes]:
        while line := file.readline(LINE_BYTES_MAX):
            self.bytes += len(line)
            self.lines += 1
            if line.endswith(b"\n"):
                yield line
            elif len(line) < LINE_BYTES_MAX:
                self.torn = True
            else:
                self.skip()
                self._pass_rest(file)

    def _pass_rest(self, file: BinaryIO) -> None:
        """Skip the rest of a line that is too long."""
        while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
            self.bytes += len(rest)
        self.bytes += len(rest)

    def _record(self, line: bytes) -> Record | None:
        passed_over = _PASSED_OVER.match(line)
        if passed_over is not None:
            boot, seq = int(passed_over[1]), int(passed_over[2])
            return {"boot": boot, "seq": seq, "ev": None} if boot == self._boot else None
        record = record_of(line, _loaded)
        if record is None or type(record["ev"]) is not str or record["boot"] != self._boot:
            return None
        return record


def _loaded(line: bytes) -> Any:
    """The value of a line of JSON, all of its texts as they were. ValueError, RecursionError."""
    value = _record_with_queues(line) or orjson.loads(line)
    return encoding.unescaped(value) if isinstance(value, dict) and value.get("escaped") else value


def _record_with_queues(line: bytes) -> Record | None:
    """A record whose topics are all written as the journal writes them; they take a quarter of orjson's time so."""
    at = line.find(_TOPICS)
    queues = None if at < 0 else read_queues(line, at + len(_TOPICS), _queue_data)
    if queues is None:
        return None
    record: Record = orjson.loads(line[:at] + b"}")
    return record | {"topics": Queues(queues)}


@lru_cache(maxsize=_QUEUE_KINDS_MAX)
def _queue_data(text: bytes) -> QueueData | None:
    """The queues in the text after a topic's name: from its closing quote up to the brace."""
    numbers = _NUMBERS.fullmatch(text)
    if numbers is None:
        return None
    values = [int(one) for one in numbers.groups()]
    return queue_data(*values) if all(-INT_MAX - 1 <= one <= INT_MAX for one in values) else None
