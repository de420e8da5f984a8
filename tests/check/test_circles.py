"""No modules import each other in a circle, and no folders do; imports for type checking count."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.check.source import ROOT, Source, sources


def module_of(source: Source) -> str:
    return ".".join(Path(source.name).with_suffix("").parts).removesuffix(".__init__")


def imports(root: Path) -> dict[str, set[str]]:
    """Module → the modules of rocketns that it imports."""
    read = {module_of(source): source for source in sources(root, "rocketns")}
    return {
        name: {target for _, text in source.imports if (target := _known(text, read)) not in (None, name)}
        for name, source in read.items()
    }


def _known(name: str, modules: Iterable[str]) -> str | None:
    """The module that an import names: itself, or a name inside of it."""
    parts = name.split(".")
    return next((one for i in range(len(parts), 1, -1) if (one := ".".join(parts[:i])) in modules), None)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The names of each strongly connected component with more than one member (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for target in sorted(graph.get(name, ())):
            if target not in order:
                visit(target)
                lowest[name] = min(lowest[name], lowest[target])
            elif target in stack:
                lowest[name] = min(lowest[name], order[target])
        if lowest[name] == order[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return found


def of_folders(graph: dict[str, set[str]], folder: str) -> dict[str, set[str]]:
    """The same for what is directly in a folder: its folders, and its modules as one."""
    depth = folder.count(".") + 1

    def unit(name: str) -> str:
        parts = name.split(".")
        return parts[depth] if len(parts) > depth + 1 else "its modules"

    units: dict[str, set[str]] = {}
    for name, targets in graph.items():
        if name.startswith(folder + "."):
            inside = {unit(target) for target in targets if target.startswith(folder + ".")}
            units.setdefault(unit(name), set()).update(inside - {unit(name)})
    return units


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circles(imports(ROOT)) == []


@pytest.mark.parametrize("folder", ["rocketns.server"])
def test_no_folders_import_each_other_in_a_circle(folder: str) -> None:
    assert circles(of_folders(imports(ROOT), folder)) == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    """Through an import that only type checking needs, and between folders without one between modules."""
    files = {
        "server/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rocketns.server.b.c import C\n",
        "server/b/c.py": "from rocketns.server.a import A\n",
        "server/d/e.py": "from rocketns.server.f import g\n",
        "server/f/g.py": "",
        "server/f/h.py": "import rocketns.server.d.i\n",
        "server/d/i.py": "",
    }
    for name, text in files.items():
        file = tmp_path / "rocketns" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    assert circles(imports(tmp_path)) == [["rocketns.server.a", "rocketns.server.b.c"]]
    assert circles(of_folders(imports(tmp_path), "rocketns.server")) == [["b", "its modules"], ["d", "f"]]
