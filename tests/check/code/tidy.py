"""The rules of tidiness, each a function from source files to ``file:line: what is wrong``."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.check.source import CYTHON, FOLDERS, OTHER, PYTHON, Source, sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
FOLDER_MODULES_MAX = 12

# Written in two halves, so that this file does not break its own rules.
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
# Folders of RocketMQ's images are no machine's.
IN_IMAGES = r"(?!/(?:rocketmq|logs|namesrv)\b)"
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:wo" + r"rk|ro" + rf"ot{IN_IMAGES}|Us" + r"ers|home/(?!rocket))(?=/|\w)")
CYTHON_FUNCTION = re.compile(r"^(\s*)(?:cp?def|def)\s+[^:=]*?(\w+)\s*\(")
# What a compiled module gives Python callers: a function, an enum, a class. One with an underscore is the module's own.
FOR_PYTHON = re.compile(r"^(?:def|cpdef \w+|cdef class) (?!_)\w+", re.MULTILINE)
MAY_PRINT = {
    "rocketns/startup.py", "rocketns/cli.py", "rocketns/pipeline/cli/audit.py", "rocketns/tools/output.py"
}  # fmt: skip

Found = Iterator[str]


def all_sources(root: Path) -> list[Source]:
    return list(sources(root, *FOLDERS, suffixes=PYTHON + CYTHON + OTHER))


def package_sources(root: Path) -> list[Source]:
    return list(sources(root, "rocketns"))


def long_files(root: Path) -> Found:
    for source in all_sources(root):
        lines = source.text.count("\n")
        if lines > FILE_LINES_MAX:
            yield f"{source.name}:1: {lines} lines, at most {FILE_LINES_MAX}"


def long_functions(root: Path) -> Found:
    for source in package_sources(root):
        spans = _python_functions(source.tree) if source.is_python else _cython_functions(source.text)
        for line, name, length in spans:
            if length > FUNCTION_LINES_MAX:
                yield f"{source.name}:{line}: {name} has {length} lines, at most {FUNCTION_LINES_MAX}"


def crowded_folders(root: Path) -> Found:
    """A module is all files of one stem; `__init__` does not count."""
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for source in all_sources(root):
        path = Path(source.name)
        modules[path.parent.as_posix()] |= {path.stem} - {"__init__"}
    for folder, names in sorted(modules.items()):
        if len(names) > FOLDER_MODULES_MAX:
            yield f"{folder}:1: {len(names)} modules, at most {FOLDER_MODULES_MAX}"


def unfinished(root: Path) -> Found:
    for source in all_sources(root):
        for number, line in enumerate(source.text.splitlines(), 1):
            if match := UNFINISHED.search(line):
                yield f"{source.name}:{number}: {match[0]}"


def relative_imports(root: Path) -> Found:
    for source in all_sources(root):
        if source.suffix in PYTHON + CYTHON:
            yield from (f"{source.name}:{n}: relative import {m}" for n, m in source.imports if m.startswith("."))


def extensions_without_contracts(root: Path) -> Found:
    """Python callers see a .pyi; compiled callers need a .pxd to compile at all. A file without content is neither."""
    for source in package_sources(root):
        if source.suffix == ".pyx" and not (root / source.name).with_suffix(".pyi").is_file():
            declared = (root / source.name).with_suffix(".pxd")
            text = source.text + (declared.read_text("utf-8") if declared.is_file() else "")
            if match := FOR_PYTHON.search(text):
                yield f"{source.name}:1: has {match[0].strip()!r} for Python callers and no .pyi beside it"
        elif source.suffix in (".pxd", ".pyi") and source.text.strip() == source.text.partition("\n")[0].strip():
            yield f"{source.name}:1: declares nothing, delete it"


def missing_docstrings(root: Path) -> Found:
    for source in package_sources(root):
        if source.is_python:
            yield from (f"{source.name}:{n}: {name} has no docstring" for n, name in _undocumented(source.tree))
        elif not source.text.lstrip().startswith('"""'):
            yield f"{source.name}:1: the module has no docstring"


def prints(root: Path) -> Found:
    for source in package_sources(root):
        if not source.is_python or source.name in MAY_PRINT:
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                yield f"{source.name}:{node.lineno}: print() belongs to the command line"


def machine_paths(root: Path) -> Found:
    """A path of one developer's machine, in any tracked text file."""
    for name in _tracked(root):
        try:
            text = (root / name).read_text("utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if match := MACHINE_PATH.search(line):
                yield f"{name}:{number}: machine path {line[match.start() : match.end() + 20]!r}"


def _tracked(root: Path) -> Iterable[str]:
    """The files that git tracks; or every file if the root is not a repository (a copy, a temporary tree)."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip("\0").split("\0")
    files = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
    hidden_or_built = (".", "build", "dist")
    return [path.as_posix() for path in files if not path.parts[0].startswith(hidden_or_built)]


def _python_functions(tree: ast.Module) -> Iterator[tuple[int, str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.lineno, node.name, node.end_lineno - node.lineno + 1


def _cython_functions(text: str) -> Iterator[tuple[int, str, int]]:
    """(line, name, lines) by indentation: a function ends before the first line that is not deeper than its own."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if match := CYTHON_FUNCTION.match(line):
            end = last = start
            for end in range(start + 1, len(lines)):
                body = lines[end]
                if body.strip() and not body.startswith((match[1] + " ", match[1] + ")")):
                    break
                last = end if body.strip() else last
            yield start + 1, match[2], last - start + 1


def _undocumented(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Public classes and functions without a docstring. Methods need none: class, name and types describe them."""
    if ast.get_docstring(tree) is None:
        yield 1, "the module"
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("_") and ast.get_docstring(node) is None:
            yield node.lineno, node.name
