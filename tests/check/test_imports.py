"""Layers and circles of imports between compiled modules, which no public tool reads.

A module is all files of one stem: ``a.pyx``, ``a.pxd`` and ``a.pyi`` are one. An arrow leads from a room (a folder of
``rocketns/_fast``) or a module in it to each that it imports.
"""

from __future__ import annotations

from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

from tests.check.source import ROOT, sources

FAST = "rocketns._fast"
# Each room may import those before it.
ROOMS = ("system", "tls", "codec", "access", "routes", "connections", "reactor")
# Which rooms Python may import: a codec asks its compiled twin first; a registration is 10,000 steps; `server` runs the
# reactors; views find a network, and the shadow reads PROXY headers, as they do; `admin` has the names of the reasons
# for which they close connections; `startup` sets up the allocator.
ROOMS_OF = {
    "protocol": {"codec"},
    "routeinfo": {"routes"},
    "journal": {"routes"},
    "server": set(ROOMS),
    "views": {"access"},
    "shadow": {"codec"},
    "admin": {"connections"},
    "startup": {"system"},
}

Edges = dict[str, set[str]]


def imports_of_rooms(root: Path) -> list[tuple[str, str, str]]:
    """``file:line``, the part of rocketns that imports, and the room that it imports."""
    found = []
    for source in sources(root, "rocketns"):
        parts = [part.split(".")[0] for part in Path(source.name).parts[1:]]
        unit = parts[1] if parts[0] == "_fast" else parts[0]
        for line, name in source.imports:
            if name.startswith(f"{FAST}."):
                found.append((f"{source.name}:{line}", unit, name.split(".")[2]))
    return found


def wrong(root: Path) -> list[str]:
    """The imports that break the order."""
    allowed = {room: set(ROOMS[: place + 1]) for place, room in enumerate(ROOMS)} | ROOMS_OF
    return [f"{where}: {unit} may not import {room}" for where, unit, room in imports_of_rooms(root)
            if room not in allowed.get(unit, set())]  # fmt: skip


def edges(root: Path) -> Edges:
    """Compiled module → the others of its room that it imports; the rooms have their order."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    modules = {source.name.partition(".")[0].replace("/", ".") for source in sources(root, "rocketns/_fast")}
    for source in sources(root, "rocketns/_fast"):
        module = source.name.partition(".")[0].replace("/", ".")
        for _, name in source.imports:
            target = next((name.rsplit(".", cut)[0] for cut in (0, 1) if name.rsplit(".", cut)[0] in modules), module)
            if target != module:
                found[module].add(target)
    return found


def test_compiled_modules_import_in_one_direction() -> None:
    assert not wrong(ROOT)
    assert "rocketns._fast.codec.wire" in edges(ROOT)["rocketns._fast.codec.registration"]
    TopologicalSorter(edges(ROOT)).prepare()  # CycleError names the circle
