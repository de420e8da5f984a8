"""The tables, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.audit.scale.figures import MOST, WORDS
from benchmarks.audit.scale.fleets import Size
from benchmarks.audit.scale.growth import Growth, Row, Values, signed
from benchmarks.audit.scale.plans import SINGLE
from benchmarks.audit.scale.quiet import quiet_rows
from benchmarks.report.figures import figure, table

SHOWN = 12
# The most days and the most brokers.
SKEWS = (Size(16, 20), Size(4, 80))
MB, GB = 1e6, 1e9
MEASURED = ("least measured", "most measured")
NOTE = """\
"A billion by days" and "by brokers": the line through the measured runs, by least squares, at 1,000 million events.
"Off by": the largest difference between line and value, as a part of the largest value; two runs determine a line
exactly. More than 4x for four times the days or brokers grows faster than the events, and then the line is too low."""


def page(result: Row) -> str:
    """The whole of it."""
    found = [f"## {title}\n\n" + "\n".join(rows) for title, rows in sections(result).items()]
    return "\n\n".join([about(result), NOTE, *found]) + "\n"


def about(result: Row) -> str:
    """How and where the runs were measured."""
    machine = result["machine"]
    return (
        f"`{result['command']}`, {result['when']}; {machine['cores']} cores, {machine['processor']}, "
        f"{machine['memory']}, Python {machine['Python']}"
    )


def sections(result: Row) -> dict[str, list[str]]:
    """Tables by title, as lines."""
    runs = result["runs"]
    growth = Growth.of(runs)
    sent = growth.of_all("broadcasts", "bytes", _what)
    return {
        "The runs": _runs(runs),
        "Whole runs on a quiet machine, by benchmarks.audit": quiet_rows(),
        "How figures grow": _figures(growth),
        "The largest shuffles": _shuffles(growth),
        "Shuffles into one partition": _grown(growth, _single(growth), "records"),
        "The largest frame that is sent to every executor, by what is written": _grown(growth, sent, "MB", MB),
        "Rows that are written": _grown(growth, growth.of_all("tables", "rows", _what), "rows"),
        "What is written, MB": _grown(growth, growth.of_all("tables", "bytes", _what), "MB", MB),
    }


def _runs(runs: Sequence[Row]) -> list[str]:
    head = ["Days", "Brokers", "Started", "Commit", "Load before, after", "Events", "Wall s", "CPU s"]
    rows = [
        [
            *map(str, run["size"]), run["when"], run["commit"],
            f"{run['load_before'].split()[0]}, {run['load_after'].split()[0]}", f"{run['events']:,}",
            figure(run["cost"]["wall_s"]), figure(run["cost"]["cpu_s"]),
        ]
        for run in runs
    ]  # fmt: skip
    return table(head, 5, rows)


def _figure(run: Row, name: str) -> float:
    return float({**run["figures"], **run["cost"]}[name])


def _figures(growth: Growth) -> list[str]:
    slopes = [words for way in growth.ways() for words in (f"at 0, by {way}", f"a million more, by {way}", "off by")]
    rows = []
    for name, words in WORDS.items():
        values = {Size(*run["size"]): _figure(run, name) for run in growth.runs}
        measured = [figure(min(values.values())), figure(max(values.values()))]
        rows.append([words, *measured, *_grown_by(growth, values, grows=name not in MOST)])
    return table(["Figure", *MEASURED, *slopes, *growth.head()], 1, rows)


def _grown_by(growth: Growth, values: Values, *, grows: bool) -> list[str]:
    """Empty for what does not add up."""
    lines = growth.lines(values).values()
    told = [text for line in lines for text in (signed(line.start), signed(line.slope), f"{line.off:.0%}")]
    told += growth.tail(values)
    return told if grows else [""] * len(told)


def _shuffles(growth: Growth) -> list[str]:
    """The largest ones in GB, and in which runs their partitions were uneven."""
    found = growth.of_all("shuffles", "bytes", _kind)
    longest = [run for run in growth.runs if Size(*run["size"]) in SKEWS]
    skews = [f"{_name(run)}: filled, largest by middle" for run in longest]
    rows = []
    for kind, values in growth.largest(found)[:SHOWN]:
        same = [[row for row in run["shuffles"] if _kind(row) == kind] for run in longest]
        most = figure(max(values.values()) / 1e6)
        rows.append([kind[0], f"`{kind[1]}`", most, *growth.tail(values, GB), *map(_skew, same)])
    return table(["Written", "Keys", "most measured, MB", *growth.head(), *skews], 2, rows)


def _skew(found: Sequence[Row]) -> str:
    if not found:
        return ""
    (row,) = found
    skew = "" if row["skew"] is None else f", {figure(row['skew'])}"
    return f"{row['filled']} of {row['partitions']}{skew}"


def _name(run: Row) -> str:
    days, brokers = run["size"]
    return f"{days} days, {brokers} brokers"


def _kind(row: Row) -> tuple[str, str]:
    return row["what"], row["keys"]


def _what(row: Row) -> str:
    return str(row["what"])


def _single(growth: Growth) -> dict[str, Values]:
    found = growth.of_all("shuffles", "records", _kind)
    return {what: values for (what, keys), values in found.items() if keys == SINGLE}


def _grown(growth: Growth, found: Mapping[str, Values], unit: str, scale: float = 1) -> list[str]:
    rows = [
        [what, figure(max(values.values()) / scale), *growth.tail(values, scale)]
        for what, values in growth.largest(found)[:SHOWN]
    ]
    return table(["Written", f"most measured, {unit}", *growth.head()], 1, rows)
