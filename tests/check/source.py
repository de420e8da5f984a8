"""Source files as the checks see them: text, syntax tree and import lines of one file below a root folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("rocketns", "tests", "interop", "benchmarks")
PYTHON = (".py", ".pyi")
CYTHON = (".pyx", ".pxd")
OTHER = (".java", ".sh")

CYTHON_IMPORT = re.compile(r"^\s*(?:from\s+(?P<module>[.\w]+)\s+c?import\s+(?P<names>.+)|c?import\s+(?P<modules>.+))")


@dataclass(frozen=True)
class Source:
    """One file; ``name`` is its path below the root with forward slashes."""

    name: str
    text: str

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    @property
    def is_python(self) -> bool:
        return self.suffix in PYTHON

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.name)

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """(line, dotted name) of everything imported: ``from a.b import c`` gives ``a.b.c``, relative ones start
        with a dot. A cimport counts as an import."""
        return list(_python_imports(self.tree) if self.is_python else _cython_imports(self.text))


def sources(root: Path, *folders: str, suffixes: tuple[str, ...] = PYTHON + CYTHON) -> Iterator[Source]:
    """The files with these suffixes in the folders of a root, in a stable order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield Source(path.relative_to(root).as_posix(), path.read_text("utf-8"))


def _python_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node.lineno, _joined(module, alias.name)) for alias in node.names)


def _cython_imports(text: str) -> Iterator[tuple[int, str]]:
    """Line by line, because there is no Cython parser here. Our files keep an import on one line or in brackets."""
    for number, line in enumerate(text.splitlines(), 1):
        match = CYTHON_IMPORT.match(line)
        if match is None:
            continue
        if module := match["module"]:
            names = [name.split(" as ")[0].strip(" ()") for name in match["names"].split(",")]
            yield from ((number, _joined(module, name)) for name in names)
        else:
            yield from ((number, name.split(" as ")[0].strip()) for name in match["modules"].split(","))


def _joined(module: str, name: str) -> str:
    return module + name if module.endswith(".") else f"{module}.{name}"
