"""Files that a name server is still writing, up to their last whole line. They are read for one run and not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.reading.lines import record_of
from rocketns.pipeline.contract.frames import Keep, as_it_is, columns, conform, frame_of
from rocketns.pipeline.contract.schema import EVENTS, FILES
from rocketns.pipeline.storage.events.lines import frame_of_lines, judged
from rocketns.pipeline.storage.events.listing import JournalFile, journal_files
from rocketns.pipeline.storage.events.manifest import Manifest, State
from rocketns.pipeline.storage.events.repeats import KEY
from rocketns.pipeline.storage.events.stored import read_events
from rocketns.pipeline.storage.paths import folder_at

# What one open file may hold; of a longer one only the beginning is read. It is the default size of a file.
OPEN_BYTES_MAX = 64 * 1024 * 1024

_OF_FILE = columns("dt:string ns:string segment:string bytes:long")


class Tail(NamedTuple):
    """EVENTS and FILES (``open`` is true) of files that are still being written."""

    events: DataFrame
    files: DataFrame


class OpenText(NamedTuple):
    """The whole lines of one open file."""

    file: JournalFile
    text: bytes


def open_texts(spark: SparkSession, roots: Sequence[str]) -> list[OpenText]:
    """Their text. Of copies of one file in several folders the longest counts. A file that is closed meanwhile is left
    out: it has another name now."""
    longest: dict[tuple[str, str], OpenText] = {}
    for file in journal_files(spark, roots).open:
        folder, _, name = file.path.rpartition("/")
        text = folder_at(spark, folder).part(name, size=OPEN_BYTES_MAX) or b""
        whole = text[: text.rfind(b"\n") + 1]
        known = longest.get((file.ns, file.segment))
        if whole and (known is None or len(known.text) < len(whole)):
            longest[file.ns, file.segment] = OpenText(file, whole)
    return list(longest.values())


def tail_of(spark: SparkSession, texts: Sequence[OpenText], keep: Keep = as_it_is) -> Tail:
    """The texts as frames. ``keep`` is called on a frame that both are made from."""
    if not texts:
        return Tail(frame_of(spark, [], EVENTS), frame_of(spark, [], FILES))
    files = [(text, (file.dt, file.ns, file.segment, len(text))) for file, text in texts]
    records = keep(judged(frame_of_lines(spark, files, _OF_FILE), "segment", "bytes"))
    return Tail(records.where("not corrupt").select(*EVENTS.names), _files(records))


def tail_after(spark: SparkSession, out: str, texts: Sequence[OpenText], keep: Keep = as_it_is) -> Tail:
    """The texts without what is stored in ``out``: a file that was closed and ingested meanwhile replaces its text.
    Take the texts before the ingest, so that no file is missed between the two."""
    manifest = Manifest(spark, out)
    state = manifest.state()
    sizes = {(read.ns, read.segment): read.size for read in manifest.reads(state, {text.file.dt for text in texts})}
    left = [text for text in texts if sizes.get((text.file.ns, text.file.segment), 0) < len(text.text)]
    tail = tail_of(spark, left, keep)
    if not any(_reaches_back(text, state) for text in left):
        return tail
    stored = read_events(spark, out).select(*KEY)
    return tail._replace(events=tail.events.join(stored, [*KEY], "left_anti").select(*EVENTS.names))


def _reaches_back(text: OpenText, state: State) -> bool:
    """Whether its first record is not after all that is stored of its boot."""
    first = record_of(text.text[: text.text.index(b"\n")])
    boot = int(text.file.segment.partition("-")[0])
    ranges = [r for day in state.days.values() for r in day.ranges.get(text.file.ns, ()) if r.boot == boot]
    return first is None or any(first["seq"] <= r.high for r in ranges)


def _files(records: DataFrame) -> DataFrame:
    right = F.when(~F.col("corrupt"), F.col("ts"))
    found = records.groupBy("dt", "ns", "segment", "bytes").agg(
        F.count("*").alias("lines"), F.count_if("corrupt").alias("corrupt"),
        F.min(right).alias("first"), F.max(right).alias("last"), F.lit(True).alias("open"),
    )  # fmt: skip
    return conform(found, FILES)
