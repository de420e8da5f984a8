"""Circles of imports, compiled parts included: each folder of rocketns, interop and benchmarks is drawn, and none of
the drawings may have a circle.

A drawing's nodes are the modules and the folders that lie directly in the folder. A module is all files of one stem:
``a.pyx``, ``a.pxd`` and ``a.pyi`` are one. An arrow goes from one node to another where anything in the one imports
anything in the other. Imports within functions and those for types only count as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.check.source import Source, sources

Edges = dict[str, set[str]]


class Circle(NamedTuple):
    """Nodes of one drawing that all reach each other, and the imports between them (``from -> to``)."""

    folder: str
    nodes: frozenset[str]
    imports: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.folder}: {' and '.join(sorted(self.nodes))} import each other: {', '.join(self.imports)}"


def circles(root: Path, top: str = "rocketns") -> list[Circle]:
    """The circles of all drawings of a folder, the outermost first."""
    edges = imports_between_modules(root, top)
    drawings: defaultdict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for one, others in edges.items():
        for other in others:
            folder, start, end = _arrow(one, other)
            drawings[folder].add((start, end, f"{one} -> {other}"))
    return [circle for folder in sorted(drawings) for circle in _circles_of(folder, drawings[folder])]


def imports_between_modules(root: Path, top: str = "rocketns") -> Edges:
    """Module → the other modules below ``top`` that it imports. A package's own module is ``package.__init__``."""
    found = list(sources(root, top))
    modules = {module_of(source) for source in found}
    edges: defaultdict[str, set[str]] = defaultdict(set)
    for source in found:
        module = module_of(source)
        targets = {_resolved(name, modules) for _, name in source.imports}
        edges[module] |= {target for target in targets if target is not None and target != module}
    return edges


def module_of(source: Source) -> str:
    """``rocketns/_fast/codec/wire.pxd`` → ``rocketns._fast.codec.wire``."""
    return source.name.removesuffix(source.suffix).replace("/", ".")


def _resolved(name: str, modules: set[str]) -> str | None:
    """The module that a dotted name is, or is in; None for what is not below ``top``."""
    parts = name.strip(".").split(".")
    for length in range(len(parts), 0, -1):
        candidate = ".".join(parts[:length])
        for module in (candidate, f"{candidate}.__init__"):
            if module in modules:
                return module
    return None


def _arrow(one: str, other: str) -> tuple[str, str, str]:
    """In which folder an import shows, from which node and to which."""
    start, end = one.split("."), other.split(".")
    depth = 0
    while start[depth] == end[depth]:
        depth += 1
    return ".".join(start[:depth]), start[depth], end[depth]


def _circles_of(folder: str, arrows: Iterable[tuple[str, str, str]]) -> Iterator[Circle]:
    arrows = list(arrows)
    edges: defaultdict[str, set[str]] = defaultdict(set)
    for start, end, _ in arrows:
        edges[start].add(end)
    reached = {node: _reached_from(node, edges) for node in list(edges)}
    in_circles = {node for node, others in reached.items() if node in others}
    while in_circles:
        node = min(in_circles)
        nodes = frozenset(other for other in reached[node] & in_circles if node in reached[other])
        in_circles -= nodes
        imports = sorted(text for start, end, text in arrows if start in nodes and end in nodes)
        yield Circle(folder, nodes, tuple(imports))


def _reached_from(node: str, edges: Edges) -> set[str]:
    reached: set[str] = set()
    waiting = set(edges[node])
    while waiting:
        other = waiting.pop()
        reached.add(other)
        waiting |= edges.get(other, set()) - reached
    return reached
