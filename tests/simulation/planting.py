"""Plants one fault of the catalogue in the code of this process: the module is loaded from changed text."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from types import ModuleType

from tests.mutants.copy import ROOT
from tests.mutants.fault import Fault, UnusableFault, read_faults


def faults() -> list[Fault]:
    """The faults that the simulation has to find."""
    return [fault for fault in read_faults() if fault.tests == ("tests/simulation/test_share.py",)]


def plant(name: str) -> None:
    """Before anything of rocketns is imported."""
    fault = next((one for one in faults() if one.name == name), None)
    if fault is None:
        raise SystemExit(f"no fault of this name: {name!r}")
    loaded = fault.file.removesuffix(".py").replace("/", ".")
    if loaded in sys.modules:
        raise UnusableFault(f"{loaded} is loaded already")
    sys.meta_path.insert(0, _Finder(loaded, fault))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, and gives it the faulty text."""

    def __init__(self, name: str, fault: Fault) -> None:
        self._name, self._fault = name, fault

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path)
        assert found is not None
        assert found.origin is not None
        return importlib.util.spec_from_loader(name, _Loader(name, found.origin, self._fault))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, fault: Fault) -> None:
        super().__init__(name, path)
        self._fault = fault

    def get_code(self, name: str) -> object:  # type: ignore[override]
        """Compiled from the changed text, never from the cache."""
        return compiled(self._fault, self.get_filename(name))


def compiled(fault: Fault, name: str) -> object:
    """The module with the fault. `UnusableFault` where it is no Python, or its place is not found."""
    text = (ROOT / fault.file).read_text("utf-8")
    if text.count(fault.old) != 1:
        raise UnusableFault(f"{fault.name}: {fault.file} has the text {text.count(fault.old)} times")
    try:
        return compile(text.replace(fault.old, fault.new), name, "exec")
    except SyntaxError as error:
        raise UnusableFault(f"{fault.name}: {error}") from error


def find_all(words: Sequence[str], seeds: int) -> int:
    """Run seeds with each fault that has one of the words in its name. 1 if a fault is not found, else 0."""
    missed = 0
    for fault in faults():
        if not words or any(word in fault.name for word in words):
            found = first_line(fault, seeds)
            missed += found is None
            print(f"{fault.name}: {found or 'NOT FOUND'}", flush=True)
    return int(missed > 0)


def first_line(fault: Fault, seeds: int) -> str | None:
    """The first violation with this fault in the code. None if there is none in so many seeds.

    `UnusableFault` where the run ended by anything else.
    """
    command = [sys.executable, "-m", "tests.simulation", "--brief", "--plant", fault.name, "--seeds", str(seeds)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return None
    if not ended.stdout.startswith("seed "):
        raise UnusableFault(f"{fault.name}: {ended.stdout}{ended.stderr}")
    return ended.stdout.splitlines()[0]
