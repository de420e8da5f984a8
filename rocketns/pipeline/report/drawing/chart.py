"""The two plain charts of the page: bars for counts, dots on one scale for comparisons."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from rocketns.pipeline.report.drawing.svg import COLOUR, Drawing, Layout, drawing, new_figure
from rocketns.pipeline.report.scripts import strict
from rocketns.pipeline.report.text import shortened

ROWS_MAX = 12
ROW_PX = 46
FRAME_PX = 66
# matplotlib lacks the glyphs of Chinese and takes each for 0.6 of its width in a browser.
WIDER = 0.45
SERIES_COLOURS = ("first", "second", "third")
MARKERS = ("o", "D", "s", "|")


@dataclass(frozen=True)
class Series:
    """One value for each row of a chart, None where there is none."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Chart:
    """Rows with their series; ``show`` writes a value on the axis; ``mark`` is a line to compare with."""

    name: str
    label: str
    rows: Sequence[str]
    series: Sequence[Series]
    axis: str
    show: Callable[[float], str]
    mark: tuple[float, str] | None = None


def bars(chart: Chart) -> Drawing:
    """Horizontal bars, each row's label above them: long names stay readable on a phone."""
    return drawing(chart.name, chart.label, lambda layout: _figure(chart, layout, _draw_bars))


def dots(chart: Chart) -> Drawing:
    """Each row a line with one mark for each series: how far they are apart."""
    return drawing(chart.name, chart.label, lambda layout: _figure(chart, layout, _draw_dots))


def _figure(chart: Chart, layout: Layout, draw: Callable[[Axes, Chart], None]) -> Figure:
    height = FRAME_PX + ROW_PX * len(chart.rows)
    figure = new_figure(layout, height)
    axes = figure.add_axes((0.012, 38 / height, 0.95, 1 - FRAME_PX / height))
    axes.patch.set_visible(False)
    draw(axes, chart)
    axes.set_ylim(len(chart.rows) - 0.45, -0.62)
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(3 if layout.narrow else 7))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: chart.show(value)))
    axes.set_xlabel(chart.axis, loc="left")
    _labels(axes, chart, 44 if layout.narrow else 110)
    _legend(axes, chart)
    return figure


def _labels(axes: Axes, chart: Chart, longest: int) -> None:
    for place, name in enumerate(chart.rows):
        axes.annotate(
            shortened(strict(name), longest), (0, place - 0.28), xycoords=("axes fraction", "data"), va="center"
        )


def _legend(axes: Axes, chart: Chart) -> None:
    if len(chart.series) > 1 or chart.mark:
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=4, frameon=False, handlelength=1.1,
            columnspacing=1.2 + WIDER * max(_wide(name) for name in _named(chart)),
            borderaxespad=0, handletextpad=0.5,
        )  # fmt: skip


def _named(chart: Chart) -> list[str]:
    return [series.name for series in chart.series] + ([chart.mark[1]] if chart.mark else [])


def _wide(text: str) -> int:
    """How many of its characters are as wide as they are high."""
    return sum(unicodedata.east_asian_width(c) in "WF" for c in text)


def _draw_bars(axes: Axes, chart: Chart) -> None:
    thick = 0.4 / len(chart.series)
    for index, (series, colour) in enumerate(zip(chart.series, SERIES_COLOURS, strict=False)):
        places = [row - 0.08 + thick * (index + 0.5) for row in range(len(chart.rows))]
        axes.barh(places, [v or 0 for v in series.values], thick * 0.9, color=COLOUR[colour], label=series.name)
    axes.set_xlim(left=0)


def _draw_dots(axes: Axes, chart: Chart) -> None:
    for row in range(len(chart.rows)):
        given = [v for v in (s.values[row] for s in chart.series) if v is not None]
        if given:
            axes.plot([min(given), max(given)], [row + 0.12] * 2, color=COLOUR["line"], linewidth=3)
    for series, colour, marker in zip(chart.series, (*SERIES_COLOURS, "muted"), MARKERS, strict=False):
        points = [(v, row + 0.12) for row, v in enumerate(series.values) if v is not None]
        axes.plot(
            [x for x, _ in points], [y for _, y in points], marker, color=COLOUR[colour], label=series.name,
            markersize=8, markeredgewidth=2 if marker == "|" else 0,
        )  # fmt: skip
    if chart.mark:
        axes.axvline(chart.mark[0], color=COLOUR["failed"], linewidth=1.2, linestyle="--", label=chart.mark[1])
    axes.set_xlim(left=0)
