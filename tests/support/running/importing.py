"""Importing the tests' modules before they are collected, each of several workers beginning at another one.

pytest rewrites the assertions of a module when it is imported first, and keeps the result in a file. Workers that
import all modules in one order are always at the same module, and so in a fresh clone each of them rewrites it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest


def import_before_collecting(config: pytest.Config, worker: int, workers: int) -> None:
    """Import the modules of the folders that are asked for. Who collects reports what cannot be imported."""
    here = config.invocation_params.dir
    modules = modules_below(config.rootpath, [here / folder for folder in config.args])
    for name in from_another_one(modules, worker, workers):
        with suppress(Exception, pytest.skip.Exception):
            import_module(name)


def modules_below(root: Path, folders: Iterable[Path]) -> list[str]:
    """The tests' modules by their names."""
    inside = [folder for folder in folders if folder.is_relative_to(root)]
    files = [file.relative_to(root) for folder in inside for file in sorted(folder.rglob("test_*.py"))]
    return [".".join(file.with_suffix("").parts) for file in files]


def from_another_one(modules: Sequence[str], worker: int, workers: int) -> list[str]:
    """All of them, for each worker its own share first."""
    first = len(modules) * worker // workers
    return [*modules[first:], *modules[:first]]
