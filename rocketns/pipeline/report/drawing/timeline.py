"""The timelines: the whole fleet in one drawing, and each name server with its brokers in one of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.report.drawing.spans import (
    BrokerRow,
    Span,
    broker_rows,
    down_spans,
    incidents_of_brokers,
    merged,
)
from rocketns.pipeline.report.drawing.svg import COLOUR, Drawing, Layout, drawing, new_figure
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import shortened, visible

BROKERS_MAX = 24
NAME_SERVERS_MAX = 12
AXIS_PX = 34
LEGEND_PX = 30
LABEL_SHARE = 0.22  # of the width, left of the rows; on a phone labels stand above them

UP, DOWN, FAILED, DIFFER = "up", "down", "failed", "differ"
WORDS = {UP: "up", FAILED: "gone after a failure", DOWN: "gone, no failure", DIFFER: "views differ"}


def fleet_timeline(data: ReportInput) -> Drawing:
    """One row for each name server, and one for when any views differed."""
    servers = name_servers(data)[:NAME_SERVERS_MAX]
    differ = [span for spans in incidents_of_brokers(data).values() for span in spans]
    rows = [BrokerRow(ns, up=_up(data, ns), down=down_spans(data, ns)) for ns in servers]
    rows.append(BrokerRow("views differ", differ=differ))
    label = f"{len(servers)} name servers over the observation: when each was up, and when their views differed."
    words = {UP: "name server up", DOWN: "name server down", DIFFER: "views differ"}
    return drawing("fleet", label, lambda layout: _figure(data, layout, rows, [], words))


def server_timeline(data: ReportInput, ns: str, index: int) -> tuple[Drawing, int]:
    """One name server's brokers, the most eventful first, and how many are not drawn."""
    rows = broker_rows(data, ns)
    shown = rows[:BROKERS_MAX]
    label = f"Name server {ns}: {len(shown)} brokers, when each was up, gone, or seen differently elsewhere."
    gone = down_spans(data, ns)
    made = drawing(f"server{index}", visible(label), lambda layout: _figure(data, layout, shown, gone, WORDS))
    return made, len(rows) - len(shown)


def name_servers(data: ReportInput) -> list[str]:
    """All name servers that the tables know, sorted."""
    tables = (data["ns_uptime"], data["sources"], data["broker_intervals"])
    return sorted({str(row["ns"]) for table in tables for row in table.rows if row.get("ns") is not None})


def _up(data: ReportInput, ns: str) -> list[Span]:
    return [(int(r["t1"]), int(r["t2"])) for r in data["ns_uptime"].rows if r["ns"] == ns]


def _figure(
    data: ReportInput, layout: Layout, rows: Sequence[BrokerRow], shaded: list[Span], words: dict[str, str]
) -> Figure:
    row_px = 40 if layout.narrow else 22
    legend_px = LEGEND_PX * 1.6 if layout.narrow else LEGEND_PX
    height = AXIS_PX + legend_px + row_px * len(rows)
    figure = new_figure(layout, height)
    left = 0.012 if layout.narrow else LABEL_SHARE
    axes = figure.add_axes(
        (left, AXIS_PX / height, (0.95 if layout.narrow else 0.98) - left, 1 - (AXIS_PX + legend_px) / height)
    )
    axes.patch.set_visible(False)
    _paint_all(axes, data, rows, shaded)
    _time_axis(axes, data, layout)
    axes.set_ylim(len(rows) - 0.4, -0.8 if layout.narrow else -0.6)
    axes.set_yticks([])
    _row_labels(axes, rows, layout)
    _legend(figure, words, layout, left)
    return figure


def _paint_all(axes: Axes, data: ReportInput, rows: Sequence[BrokerRow], shaded: list[Span]) -> None:
    for a, b in merged(shaded, data.t0, data.t1):
        axes.axvspan(a / DAY_US, b / DAY_US, color=COLOUR["line"], linewidth=0, zorder=0)
    for colour, top, thick in ((UP, -0.22, 0.36), (DOWN, -0.08, 0.08), (FAILED, -0.12, 0.16), (DIFFER, 0.19, 0.18)):
        boxes = [
            (a / DAY_US, b / DAY_US, place + top, place + top + thick)
            for place, row in enumerate(rows)
            for a, b in merged(getattr(row, colour), data.t0, data.t1)
        ]
        if boxes:
            axes.add_patch(PathPatch(_path(boxes), facecolor=COLOUR[colour], linewidth=0, zorder=2))


def _path(boxes: Iterable[tuple[float, float, float, float]]) -> Path:
    """Any number of rectangles as one path, which keeps the page small."""
    corners = [point for x1, x2, y1, y2 in boxes for point in ((x1, y1), (x2, y1), (x2, y2), (x1, y2), (x1, y1))]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * (len(corners) // 5)
    return Path(corners, codes)


def _time_axis(axes: Axes, data: ReportInput, layout: Layout) -> None:
    axes.set_xlim(data.t0 / DAY_US, max(data.t1, data.t0 + 1) / DAY_US)
    locator = AutoDateLocator(tz=UTC, minticks=2 if layout.narrow else 4, maxticks=4 if layout.narrow else 9)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
    axes.grid(axis="x")


def _row_labels(axes: Axes, rows: Sequence[BrokerRow], layout: Layout) -> None:
    for place, row in enumerate(rows):
        name = visible(row.label)
        if layout.narrow:
            axes.annotate(
                shortened(name, 44), (0, place - 0.41), xycoords=("axes fraction", "data"), va="center", fontsize=10
            )
        else:
            axes.annotate(
                shortened(name, 28), (0, place), xytext=(-8, 0), textcoords="offset points",
                xycoords=("axes fraction", "data"), va="center", ha="right",
            )  # fmt: skip


def _legend(figure: Figure, words: dict[str, str], layout: Layout, left: float) -> None:
    handles = [Patch(facecolor=COLOUR[colour], label=word) for colour, word in words.items()]
    figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(left - 0.005, 1), ncols=2 if layout.narrow else 4,
        frameon=False, handlelength=1.1, handleheight=0.6, columnspacing=1.2, borderaxespad=0, handletextpad=0.5,
        labelspacing=0.2, borderpad=0,
    )  # fmt: skip
