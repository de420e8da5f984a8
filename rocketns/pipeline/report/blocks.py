"""The parts of the page between data and template. A section answers one question. A block is one figure or table with
its meaning and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.job import SECTIONS
from rocketns.pipeline.contract.meanings import Meaning
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.timeline import Timeline
from rocketns.pipeline.saying import _


@dataclass(frozen=True)
class Block:
    """One result. ``empty`` is the sentence shown when there is neither figure nor table."""

    title: str
    meaning: Meaning
    figures: Sequence[tuple[str, Drawing]] = ()
    grids: Sequence[Grid] = ()
    empty: str = ""
    remarks: Sequence[str] = ()
    timeline: Timeline | None = None


@dataclass(frozen=True)
class Section:
    """One chapter of the page, with its answer in a sentence. ``name``: one of SECTIONS, its anchor, its key in the
    notes."""

    name: str
    answer: str
    blocks: Sequence[Block]
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        return _(SECTIONS[self.name])


def meaning(table: str) -> Meaning:
    """The meaning of a table, from the catalogue."""
    return BY_NAME[table].meaning


def listed(title: str, meaning: Meaning, columns: Sequence[Column], table: Table, empty: str) -> Block:
    """A block of one table; its heading is its caption. ``title`` and ``empty`` are messages."""
    return Block(_(title), meaning, grids=[grid(title, columns, table)] if table else [], empty=_(empty))
