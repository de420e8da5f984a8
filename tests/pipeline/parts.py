"""Parts of journals, as they arrive over time."""

from __future__ import annotations

from collections.abc import Sequence

from tests.pipeline.journals import SECOND, Journals, Record


def cut_at(journals: Journals, seconds: Sequence[int]) -> list[Journals]:
    """Parts by time: up to the first of ``seconds`` (since the epoch), up to the second, and so on."""
    ends = [second * SECOND for second in seconds]
    return [
        {ns: [record for record in records if before <= record["ts"] < end] for ns, records in journals.items()}
        for before, end in zip([0, *ends], ends, strict=False)
    ]


def as_files(journals: Journals, seconds: Sequence[int]) -> Journals:
    """The journals with an ``open`` record at each of ``seconds``, so that a file begins there."""
    return {ns: _rotated(records, seconds) for ns, records in journals.items()}


def _rotated(records: list[Record], seconds: Sequence[int]) -> list[Record]:
    found: list[Record] = []
    file = 1
    rotations = sorted(seconds)
    for record in records:
        if rotations and record["ts"] >= rotations[0] * SECOND:
            file += 1
            opened = {"ts": rotations.pop(0) * SECOND, "ev": "open", "ns": records[0]["ns"], "file": file}
            found.append({"boot": record["boot"], "seq": 0, **opened})
        found.append(dict(record))
    return [record | {"seq": number} for number, record in enumerate(found, 1)]
