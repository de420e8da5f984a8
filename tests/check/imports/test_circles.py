"""No folder of rocketns has a circle of imports, and the drawings have the imports of the sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.imports.circles import circles, imports_between_modules
from tests.check.source import ROOT, plant

WIRE = "rocketns._fast.codec.wire"


@pytest.mark.parametrize("top", ["rocketns", "interop", "benchmarks"])
def test_no_folder_has_a_circle_of_imports(top: str) -> None:
    found = circles(ROOT, top)
    assert not found, "\n".join(map(str, found))


def test_imports_of_python_and_of_compiled_modules_are_arrows() -> None:
    edges = imports_between_modules(ROOT)
    assert WIRE in edges["rocketns._fast.codec.registration_blocks"]
    assert WIRE in edges["rocketns.server.connections.asyncio_connection"]
    assert "rocketns.config.__init__" in edges["rocketns.namesrv_controller"]


@pytest.mark.parametrize(
    ("files", "folder", "nodes"),
    [
        ({"a.py": "import rocketns.b", "b.py": "from rocketns import a"}, "rocketns", {"a", "b"}),
        ({"a.py": "from rocketns.b import x", "b.py": "from rocketns.c import y",
          "c.py": "def f():\n    from rocketns.a import z"}, "rocketns", {"a", "b", "c"}),
        ({"a/x.py": "from rocketns.b.y import f", "b/z.py": "from rocketns.a import w", "b/y.py": "", "a/w.py": ""},
         "rocketns", {"a", "b"}),
        ({"a/x.py": "from rocketns.a.c.y import f", "a/c/y.py": "", "a/c/z.py": "from rocketns.a.x import g"},
         "rocketns.a", {"x", "c"}),
        ({"_fast/r/a.pyx": "from rocketns._fast.r.b cimport f", "_fast/r/a.pxd": "",
          "_fast/r/b.pxd": "from rocketns._fast.r.a cimport g"}, "rocketns._fast.r", {"a", "b"}),
        ({"a/__init__.py": "from rocketns.a.x import f", "a/x.py": "from rocketns.a import g"}, "rocketns.a",
         {"__init__", "x"}),
        ({"a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rocketns.b import x",
          "b.py": "import rocketns.a"}, "rocketns", {"a", "b"}),
    ],
)  # fmt: skip
def test_a_planted_circle_is_found(tmp_path: Path, files: dict[str, str], folder: str, nodes: set[str]) -> None:
    for name, text in files.items():
        plant(tmp_path, f"rocketns/{name}", text)
    (found,) = circles(tmp_path)
    assert (found.folder, found.nodes) == (folder, frozenset(nodes))


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "import rocketns.b", "b.py": "import rocketns.c", "c.py": ""},
        {"a.py": "from rocketns.b.x import f", "b/x.py": "from rocketns.b.y import g", "b/y.py": "import rocketns.c.z",
         "c/z.py": ""},
        {"_fast/r/a.pyx": "from rocketns._fast.r.a cimport f", "_fast/r/a.pxd": "", "_fast/r/a.pyi": ""},
        {"a.py": "import os\nfrom b import c"},
    ],
)  # fmt: skip
def test_imports_without_a_circle_pass(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        plant(tmp_path, f"rocketns/{name}", text)
    assert circles(tmp_path) == []
