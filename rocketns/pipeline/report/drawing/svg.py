"""matplotlib figures as SVG inside the page. Colours become CSS variables of the page, so one drawing works in light
and dark mode. Everything that varies between runs, or refers outside of the figure, is removed."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

DPI = 72  # matplotlib's SVG unit is 1/72 inch: one CSS pixel here
WIDE_PX = 1000
NARROW_PX = 350

# While matplotlib draws, a unique colour stands for each variable of the style sheet.
VARIABLES = ("ink", "muted", "line", "up", "down", "failed", "differ", "first", "second", "third")
COLOUR = {name: f"#0b1d{index:02x}" for index, name in enumerate(VARIABLES, 1)}
_CSS = {colour: f"var(--{name})" for name, colour in COLOUR.items()}

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "path.simplify": False,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": COLOUR["ink"],
    "axes.edgecolor": COLOUR["line"],
    "axes.labelcolor": COLOUR["muted"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "grid.color": COLOUR["line"],
    "grid.linewidth": 0.6,
    "xtick.color": COLOUR["muted"],
    "ytick.color": COLOUR["ink"],
    "ytick.left": False,
    "axes.formatter.use_mathtext": False,
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Layout:
    """The width of a drawing in CSS pixels, and whether it is narrow, with labels above the rows."""

    px: int
    narrow: bool


@dataclass(frozen=True)
class Drawing:
    """One figure in both widths, and a sentence that describes it."""

    wide: Markup
    narrow: Markup
    label: str


Draw = Callable[[Layout], Figure]


def drawing(name: str, label: str, draw: Draw) -> Drawing:
    """Draw for both widths; ``name`` keeps the ids of one page apart."""
    return Drawing(
        _one(f"{name}-w", label, draw, Layout(WIDE_PX, False)),
        _one(f"{name}-n", label, draw, Layout(NARROW_PX, True)),
        label,
    )


def new_figure(layout: Layout, height_px: float) -> Figure:
    """An empty transparent figure of this width."""
    figure = Figure(figsize=(layout.px / DPI, height_px / DPI), dpi=DPI)
    figure.patch.set_visible(False)
    return figure


def _one(name: str, label: str, draw: Draw, layout: Layout) -> Markup:
    with _settings(name), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's browser has the fonts
        figure = draw(layout)
        FigureCanvasSVG(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return Markup(_inline(out.getvalue(), name, label))


@contextmanager
def _settings(name: str) -> Iterator[None]:
    """matplotlib's own defaults whatever the user's matplotlibrc says, and ids that depend on the name alone."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS | {"svg.hashsalt": name})
        yield


def _inline(document: str, name: str, label: str) -> str:
    root = ET.fromstring(document)
    _drop(root, {"metadata", "style"})
    referenced = set(re.findall(r'(?:href="|url\()#([^")]+)', document))
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(k): _value(v) for k, v in element.attrib.items()}
        _rename(element, name, referenced)
    for unneeded in ("width", "height", "version"):
        root.attrib.pop(unneeded, None)
    root.attrib |= {"role": "img", "aria-label": label, "class": "chart"}
    return ET.tostring(root, encoding="unicode")


def _drop(element: ET.Element, tags: set[str]) -> None:
    for child in list(element):
        if _local(child.tag) in tags:
            element.remove(child)
        else:
            _drop(child, tags)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _value(text: str) -> str:
    for colour, variable in _CSS.items():
        text = text.replace(colour, variable)
    return re.sub(r"font: (\d[\d.]*px) [^;]*", r"font-size: \1", text)


def _rename(element: ET.Element, name: str, referenced: set[str]) -> None:
    """Ids of one figure get its name; those that nothing refers to go."""
    identity = element.attrib.pop("id", None)
    if identity in referenced:
        element.attrib["id"] = f"{name}-{identity}"
    for key, text in element.attrib.items():
        if key == "href":
            element.attrib[key] = text.replace("#", f"#{name}-", 1)
        elif "url(#" in text:
            element.attrib[key] = text.replace("url(#", f"url(#{name}-")
