"""The plots, as SVG. matplotlib is imported when they are drawn: measuring does not need it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.parts import connections, lookups, paced, registering, storm, topics
from benchmarks.plan import CLIENTS, DEPTHS, ENCODINGS, FEW, Plan
from benchmarks.record import Record
from benchmarks.report.figures import figure
from benchmarks.report.store import FOLDER, Results
from benchmarks.servers.kinds import (
    DEFAULT,
    FORMER,
    JAVA,
    JAVA_G1,
    JAVA_SCRIPT,
    LABELS,
    REACTORS_2,
    RUST,
    C,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Colours that colour-blind readers can tell apart.
COLOURS = {DEFAULT: "#0072B2", FORMER: "#56B4E9", REACTORS_2: "#004466", JAVA: "#D55E00",
           JAVA_G1: "#CC79A7", JAVA_SCRIPT: "#882255", RUST: "#E69F00", C: "#009E73"}  # fmt: skip
STYLE: dict[Any, Any] = {"svg.hashsalt": "rocketns", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False, "figure.facecolor": "white", "legend.frameon": False}  # fmt: skip


def draw(results: Results, plan: Plan) -> list[Path]:
    """Draw all plots whose part was measured. ImportError without matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    plots: dict[str, tuple[str, Callable[[Figure, Record, Plan], None]]] = {
        "lookups": ("lookups", _lookups), "paced": ("paced", _paced),
        "registrations": ("registering", _registrations), "storm": ("storm", _storm),
        "topics": ("topics", _topics), "connections": ("connections", _connections),
    }  # fmt: skip
    with matplotlib.rc_context(STYLE):
        drawn = ((name, results.find(part), plot) for name, (part, plot) in plots.items())
        return [_save(name, record, plan, plot) for name, record, plot in drawn if record and record.rows]


def _save(name: str, record: Record, plan: Plan, plot: Callable[[Figure, Record, Plan], None]) -> Path:
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(10, 3.9), layout="constrained")
    plot(drawing, record, plan)
    # The same servers are in all of a drawing's axes.
    handles, labels = drawing.axes[0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside upper center", ncols=(len(labels) + 1) // 2, fontsize=8)
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.svg"
    drawing.savefig(path, metadata={"Date": None})
    return path


def _bars(axes: Axes, record: Record, groups: dict[str, tuple[str, str]]) -> None:
    """Groups of bars with one bar for each server. ``groups``: row and unit by label. Logarithmic, figures on top."""
    rows = {label: record.find(*key) for label, key in groups.items()}
    servers = [key for key in LABELS if any(row and row.middle(key) is not None for row in rows.values())]
    width = 0.84 / max(1, len(servers))
    for place, key in enumerate(servers):
        at = [group + (place - (len(servers) - 1) / 2) * width for group in range(len(rows))]
        heights = [(row.middle(key) if row else None) or float("nan") for row in rows.values()]
        bars = axes.bar(at, heights, width * 0.92, label=LABELS[key], color=COLOURS[key])
        texts = ["" if height != height else figure(height) for height in heights]  # NaN differs from itself
        axes.bar_label(bars, texts, fontsize=5, padding=1)
    _logarithmic(axes.yaxis, axes.set_yscale)
    axes.set_xticks(range(len(rows)), list(rows))


def _lines(axes: Axes, record: Record, points: dict[int, tuple[str, str]]) -> None:
    """One line for each server. ``points``: row and unit by size. Both axes are logarithmic."""
    rows = {size: row for size, key in points.items() if (row := record.find(*key))}
    for key in LABELS:
        found = [(size, middle) for size, row in rows.items() if (middle := row.middle(key)) is not None]
        if found:
            axes.plot(*zip(*found, strict=True), marker="o", markersize=3.5, label=LABELS[key], color=COLOURS[key])
    _logarithmic(axes.xaxis, axes.set_xscale)
    _logarithmic(axes.yaxis, axes.set_yscale)
    axes.grid(visible=True, which="major", linewidth=0.3)


def _logarithmic(axis: Axis, set_scale: Callable[[str], None]) -> None:
    """Powers of ten as text; 2 and 5 between them as marks without text."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    set_scale("log")
    axis.set_major_locator(LogLocator(base=10, subs=(1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axis.set_minor_locator(LogLocator(base=10, subs=(2.0, 5.0)))
    axis.set_minor_formatter(NullFormatter())


def _lookups(drawing: Figure, record: Record, _plan: Plan) -> None:
    axes = drawing.subplots()
    _bars(axes, record, {f"{depth} outstanding,\n{headers}": (lookups.name(FEW, encoding, depth), "CPU µs")
                         for encoding, headers in ENCODINGS.items() for depth in DEPTHS})  # fmt: skip
    axes.set_ylabel("server CPU for one lookup, µs")
    axes.set_title(f"Route lookup, {FEW} connections (less is better)", fontsize=9)


def _paced(drawing: Figure, record: Record, _plan: Plan) -> None:
    axes = drawing.subplots()
    groups = {f"{rate:,} a second over\n{count:,} connections": (paced.name(count, rate), "p99 µs")
              for count, rate in paced.CELLS}  # fmt: skip
    _bars(axes, record, groups)
    axes.set_ylabel("p99 from due to answered, µs")
    axes.set_title(f"Route lookups at the rate of {CLIENTS:,} clients, open loop (less is better)", fontsize=9)


def _registrations(drawing: Figure, record: Record, _plan: Plan) -> None:
    axes = drawing.subplots()
    _bars(axes, record, {kind: (registering.name(kind), "CPU ms") for kind in registering.KINDS})
    axes.set_ylabel("server CPU for one registration, ms")
    axes.set_title("Registration of 10,000 topics (less is better)", fontsize=9)


def _storm(drawing: Figure, record: Record, _plan: Plan) -> None:
    axes = drawing.subplots()
    _bars(axes, record, {f"{rate},\n{'any core' if place == storm.ANYWHERE else 'cores apart'}":
                         (storm.name(rate, place), "p99 µs")
                         for place in storm.PLACES for rate in storm.RATES})  # fmt: skip
    axes.tick_params(axis="x", labelsize=6)
    axes.set_ylabel("route latency, p99, µs")
    axes.set_title("Route latency while brokers of 10,000 topics register (less is better)", fontsize=9)


def _topics(drawing: Figure, record: Record, plan: Plan) -> None:
    costs, sizes = drawing.subplots(1, 2)
    _lines(costs, record, {count: (topics.lookup(count, 16), "CPU µs") for count in plan.growing_topics})
    _lines(sizes, record, {count: (topics.memory(count), "MB") for count in plan.growing_topics})
    _name(costs, "topics", "server CPU for one lookup, µs (16 outstanding)")
    _name(sizes, "topics", "resident memory, MB")


def _connections(drawing: Figure, record: Record, plan: Plan) -> None:
    costs, sizes = drawing.subplots(1, 2)
    counts = plan.growing_connections
    _lines(costs, record, {count: (connections.name(count), "CPU µs") for count in counts})
    _lines(sizes, record, {count: (connections.memory(count), "MB") for count in counts})
    _name(costs, "connections", "server CPU for one lookup, µs (1 outstanding)")
    _name(sizes, "connections", "resident memory, MB")


def _name(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_title(y, fontsize=9)
