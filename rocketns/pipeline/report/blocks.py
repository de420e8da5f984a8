"""The parts of the page between data and template: a section answers one question, a block is one figure or table with
what it means and what it does not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocketns.pipeline.contract.meanings import Meaning
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.model import Table


@dataclass(frozen=True)
class Block:
    """One result. ``empty`` is the sentence shown when there is neither figure nor table."""

    title: str
    meaning: Meaning
    figures: Sequence[tuple[str, Drawing]] = ()
    grids: Sequence[Grid] = ()
    empty: str = ""
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """One chapter of the page, with its answer in a sentence. ``name`` is its anchor and its key in the notes."""

    name: str
    title: str
    answer: str
    blocks: Sequence[Block]
    notes: Sequence[str] = ()


def plural(count: float, one: str, many: str = "") -> str:
    """``1 window``, ``2 windows``, ``1,200 entries``."""
    return f"{count:,.0f} {one if count == 1 else many or one + 's'}"


def listed(title: str, meaning: Meaning, columns: Sequence[Column], table: Table, empty: str) -> Block:
    """A block of one table, which stands for itself: its heading is its caption."""
    return Block(title, meaning, grids=[grid(title, columns, table)] if table else [], empty=empty)
