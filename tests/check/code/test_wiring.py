"""Nothing sets an attribute of another object from outside: an attribute is assigned in the file that declares it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.check.source import ROOT, Source, sources

# Not routeinfo: its functions are what mutates the tables.
NOT_OURS = {
    "rocketns/client/tls.py",  # sets up a context of the standard library
    "rocketns/processor/client.py",  # completes a route that it just made
    "rocketns/processor/product_routes.py",  # likewise
}
FOLDERS = ("rocketns/server", "rocketns/processor", "rocketns/journal")


def foreign(source: Source) -> list[str]:
    """``line: target`` of each assignment to an attribute that no class of the file declares or sets on ``self``."""
    declared = {name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef) for name in _declared(node)}
    return [
        f"{source.name}:{target.lineno}: {ast.unparse(target)}"
        for target in _targets(source.tree)
        if not _is_self(target) and target.attr not in declared
    ]


def _declared(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
    yield from (target.attr for target in _targets(node) if _is_self(target))


def _targets(tree: ast.AST) -> Iterator[ast.Attribute]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node


def _is_self(target: ast.Attribute) -> bool:
    return isinstance(target.value, ast.Name) and target.value.id == "self"


def test_no_attribute_is_set_from_outside() -> None:
    files = [*sources(ROOT, *FOLDERS, suffixes=(".py",)), _source(ROOT, "rocketns/namesrv_controller.py")]
    assert [line for source in files if source.name not in NOT_OURS for line in foreign(source)] == []


def _source(root: Path, name: str) -> Source:
    return Source(name, (root / name).read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "def f(other):\n    other.done = print\n",
        "class A:\n    def f(self):\n        self.part.going_away = True\n",
    ],
)
def test_an_assignment_from_outside_is_found(text: str) -> None:
    assert len(foreign(Source("a.py", text))) == 1
