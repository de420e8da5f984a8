"""The steps after a new metric's ``Family`` (CONTRIBUTING.md): what is missing, each with the next step."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from rocketns.admin.metrics.catalogue import THEMES
from rocketns.admin.metrics.family import MetricType
from rocketns.shadow.status.metrics import FAMILIES as OF_THE_SHADOW
from tests.check.metrics.asserted import asserted, repositorys
from tests.check.metrics.page import PAGE
from tests.check.source import ROOT, Source, sources

FOLDER = "rocketns/admin/metrics"
OF_THE_SHADOW_TOO = "rocketns/shadow/status"
NAMES = [family.name for families in (*THEMES.values(), OF_THE_SHADOW) for family in families]


def missing_steps() -> Iterator[str]:
    """One sentence for each step that was forgotten."""
    yield from not_in_the_catalogue(NAMES, [*sources(ROOT, FOLDER), *sources(ROOT, OF_THE_SHADOW_TOO)])
    yield from not_on_the_page(NAMES, PAGE.read_text("utf-8"))
    yield from not_asserted(NAMES, repositorys())


def not_in_the_catalogue(names: Iterable[str], modules: Iterable[Source]) -> Iterator[str]:
    """Families that no scrape shows."""
    shown = set(names)
    for module in modules:
        for name in sorted(set(declared(module.tree)) - shown):
            yield (
                f"{module.name} declares {name}, which no scrape shows. Next step: put it into FAMILIES there, and a "
                f"new theme into THEMES of {FOLDER}/catalogue.py"
            )


def declared(tree: ast.Module) -> Iterator[str]:
    """The names of the families that a module makes with `counter`, `gauge` and `histogram`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=kind), args=[ast.Constant(value=str(name)), *_]) if kind in list(MetricType):
                yield name


def not_on_the_page(names: Iterable[str], page: str) -> Iterator[str]:
    """Metrics without a row in docs/metrics.md."""
    for name in names:
        if f"\n| `{name}` |" not in page:
            yield f"docs/metrics.md has no row of {name}. Next step: python -m tests.check.metrics"


def not_asserted(names: Iterable[str], tests: Iterable[Source]) -> Iterator[str]:
    """Metrics whose value or change no test asserts."""
    proved = asserted(*tests)
    for name in names:
        if name not in proved:
            yield (
                f"no test would fail if {name} were always 0. Next step: a test in tests/admin/metrics/ that does "
                "something on the wire and asserts what the scrape says of it then"
            )
