"""docs/tables.md: the columns of every result table, of incidents.jsonl and of summary.json, made from the code.

``python -m tests.pipeline.contract.tables_page`` writes it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from inspect import getsource
from pathlib import Path

from rocketns.pipeline.batch.reporting import SUMMARY_VERSION
from rocketns.pipeline.contract import schema
from rocketns.pipeline.contract.catalogue import JOBS, Job
from rocketns.pipeline.report.beside import FIELDS

PAGE = Path(__file__).parents[3] / "docs" / "tables.md"

INTRODUCTION = """# Tables and files of the audit

Made from the code by `python -m tests.pipeline.contract.tables_page`; a test compares.
[audit-reference.md](audit-reference.md) explains the results.

Times are UTC, epoch microseconds (`bigint`), unless a name ends in `_ms` or `_s`. Intervals include their beginning and
exclude their end. Any column may be null.
"""

# The keys of summary.json. A test compares them with a run.
SUMMARY_KEYS = {
    "version": f"version of this format: {SUMMARY_VERSION}",
    "run": "id of the run that counts",
    "results": "folder of its tables, below `--out`",
    "verdict": "nothing, findings or incomplete",
    "exit_status": "0, 1 or 3: that of the run",
    "observation": "t0 and t1, epoch us: the time that was looked at is [t0, t1)",
    "findings": "how many of each finding; tables.md names them by table",
    "incomplete": "why the input is incomplete, one sentence each",
    "input": "records and files that were delivered more than once, files of another version",
    "figures": "sizes of the fleet, and of what is in doubt",
    "incidents": "how many incidents of the one list go on, and how many there are of each level and kind",
    "headline": "what is wrong, in one sentence: the first sentence of report.html",
    "notes": "sentences for sections of the page; `clocks`: name servers whose clocks are not known well enough",
    "facts": "what `notes` are made from beside the tables, for `report --language`",
    "options": "options of the run, as texts",
    "report": "name of the page; report.md and incidents.jsonl are beside it",
}


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION, "## summary.json\n", *_keys(SUMMARY_KEYS.items())]
    parts += ["\n## incidents.jsonl\n", "One JSON object a line: an incident, worst and latest first. ASCII only.\n"]
    parts += _keys((name, meaning) for name, (meaning, _) in FIELDS.items())
    for job in JOBS:
        parts += _table(job)
    return "\n".join(parts) + "\n"


def comments() -> dict[str, str]:
    """The comment above each schema of contract/schema.py, by the schema's name."""
    found = re.findall(r"((?:^#.*\n)*)^([A-Z_]+) = ", getsource(schema), re.MULTILINE)
    return {name: " ".join(line.removeprefix("#").strip() for line in text.splitlines()) for text, name in found}


def _table(job: Job) -> Iterator[str]:
    constant = next(name for name, value in vars(schema).items() if value is job.schema)
    yield f"\n## {job.name}\n"
    finding = f" What `rocketns audit run` counts as a finding: {job.finding.words}." if job.finding else ""
    yield f"One row is {job.rows}. {_escaped(job.meaning)}{finding}\n"
    if comment := comments().get(constant):
        yield f"{_escaped(comment)}\n"
    yield from _rows(("Column", "Type"), ((f"`{one.name}`", f"`{one.dataType.simpleString()}`") for one in job.schema))


def _keys(keys: Iterable[tuple[str, str]]) -> Iterator[str]:
    return _rows(("Key", "Meaning"), ((f"`{name}`", _escaped(meaning)) for name, meaning in keys))


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for line in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |"


def _escaped(text: str) -> str:
    """Text of the code as Markdown: nothing in it is a mark."""
    return re.sub(r"([*_<\[])", r"\\\1", text.replace("``", "`")) if "`" not in text else text.replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
