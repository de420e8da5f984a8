"""The rules of tidiness hold for this repository, and each rule finds a planted violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.check.code import tidy
from tests.check.source import ROOT, plant

Rule = Callable[[Path], Iterator[str]]
DOC = '"""Doc."""\n'
LONG_BODY = "    x = 1\n" * 70

RULES = (
    tidy.long_files,
    tidy.long_functions,
    tidy.crowded_folders,
    tidy.unfinished,
    tidy.relative_imports,
    tidy.extensions_without_contracts,
    tidy.missing_docstrings,
    tidy.prints,
    tidy.machine_paths,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps_the_rule(rule: Rule) -> None:
    found = list(rule(ROOT))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (tidy.long_files, "rocketns/a.py", "x = 1\n" * 401),
        (tidy.long_files, "tests/unit/a.py", "x = 1\n" * 401),
        (tidy.long_files, "interop/a.py", "x = 1\n" * 401),
        (tidy.long_files, "interop/java/A.java", "// line\n" * 401),
        (tidy.long_files, "benchmarks/a.py", "x = 1\n" * 401),
        (tidy.long_files, "rocketns/_fast/a.pyx", "x = 1\n" * 401),
        (tidy.long_functions, "rocketns/a.py", "def f():\n" + LONG_BODY),
        (tidy.long_functions, "rocketns/a.py", "class A:\n    async def f(self):\n" + "        x = 1\n" * 70),
        (tidy.long_functions, "rocketns/_fast/a.pyx", "cdef int f(\n    int a\n) noexcept nogil:\n" + LONG_BODY),
        (tidy.long_functions, "rocketns/_fast/a.pyx", "def f(const unsigned char[::1] b) -> int:\n" + LONG_BODY),
        (tidy.unfinished, "rocketns/a.py", "# TO" + "DO: later\n"),
        (tidy.unfinished, "rocketns/_fast/a.pyx", "# FIX" + "ME\n"),
        (tidy.unfinished, "interop/java/A.java", "// XX" + "X\n"),
        (tidy.relative_imports, "rocketns/a.py", "from . import b\n"),
        (tidy.relative_imports, "tests/a.py", "from ..b import c\n"),
        (tidy.relative_imports, "rocketns/_fast/a.pyx", "from .wire cimport frame_size\n"),
        (tidy.missing_docstrings, "rocketns/a.py", "x = 1\n"),
        (tidy.missing_docstrings, "rocketns/a.py", DOC + "def f():\n    pass\n"),
        (tidy.missing_docstrings, "rocketns/a.py", DOC + "async def f():\n    pass\n"),
        (tidy.missing_docstrings, "rocketns/a.py", DOC + "class A:\n    pass\n"),
        (tidy.missing_docstrings, "rocketns/_fast/a.pyi", DOC + "def f() -> int: ...\n"),
        (tidy.missing_docstrings, "rocketns/_fast/a.pyx", "x = 1\n"),
        (tidy.prints, "rocketns/a.py", "def f():\n    print(1)\n"),
        (tidy.machine_paths, "README.md", "see /wo" + "rk/x\n"),
        (tidy.machine_paths, "tests/a.py", 'HOME = "/ro' + 'ot/.cache"\n'),
        (tidy.machine_paths, "Makefile", "X = /home/" + "somebody/x\n"),
    ],
)  # fmt: skip
def test_a_planted_violation_is_found(tmp_path: Path, rule: Rule, name: str, text: str) -> None:
    plant(tmp_path, name, text)
    found = list(rule(tmp_path))
    assert len(found) == 1, found
    assert found[0].startswith(f"{name}:")


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".pyx", "def f(int a):\n    pass\n"),
        (".pyx", "cdef class A:\n    pass\n"),
        (".pxd", "cpdef enum A:\n    B = 1\n"),
    ],
)
def test_an_extension_for_python_without_a_contract_is_found(tmp_path: Path, suffix: str, text: str) -> None:
    plant(tmp_path, "rocketns/_fast/a.pyx", DOC)
    plant(tmp_path, f"rocketns/_fast/a{suffix}", DOC + text)
    (found,) = tidy.extensions_without_contracts(tmp_path)
    assert found.startswith("rocketns/_fast/a.pyx:1: has")
    plant(tmp_path, "rocketns/_fast/a.pyi", DOC + "def f(a: int) -> None: ...\n")
    assert list(tidy.extensions_without_contracts(tmp_path)) == []


@pytest.mark.parametrize("suffix", [".pxd", ".pyi"])
def test_a_contract_that_declares_nothing_is_found(tmp_path: Path, suffix: str) -> None:
    plant(tmp_path, f"rocketns/_fast/a{suffix}", DOC)
    assert list(tidy.extensions_without_contracts(tmp_path)) == [
        f"rocketns/_fast/a{suffix}:1: declares nothing, delete it"
    ]


@pytest.mark.parametrize("folder", ["tests/behaviour", "interop/harness", "benchmarks"])
def test_a_crowded_folder_beside_the_package_is_found(tmp_path: Path, folder: str) -> None:
    for number in range(13):
        plant(tmp_path, f"{folder}/test_{number}.py", DOC)
    assert list(tidy.crowded_folders(tmp_path)) == [f"{folder}:1: 13 modules, at most 12"]


@pytest.mark.parametrize(("modules", "is_crowded"), [(12, False), (13, True)])
def test_a_crowded_folder_is_found(tmp_path: Path, modules: int, is_crowded: bool) -> None:
    """All files of one stem are one module, and a package's own module does not count."""
    plant(tmp_path, "rocketns/_fast/codec/__init__.py", DOC)
    for number in range(modules):
        for suffix in (".pyx", ".pxd", ".pyi"):
            plant(tmp_path, f"rocketns/_fast/codec/part{number}{suffix}", DOC)
    found = ["rocketns/_fast/codec:1: 13 modules, at most 12"] if is_crowded else []
    assert list(tidy.crowded_folders(tmp_path)) == found


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        (tidy.long_files, "rocketns/a.py", "x = 1\n" * 400),
        (tidy.long_functions, "rocketns/a.py", "def f():\n" + "    x = 1\n" * 69),
        (tidy.long_functions, "rocketns/_fast/a.pyx", "cdef int f() nogil:\n    pass\n\n\nx = 1\n" * 40),
        (tidy.extensions_without_contracts, "rocketns/_fast/a.pyx", DOC + "cdef int f() nogil:\n    return 1\n"),
        (tidy.extensions_without_contracts, "rocketns/_fast/a.pyx", DOC + "cdef class _A:\n    pass\n"),
        (tidy.missing_docstrings, "rocketns/a.py", DOC + "def _f():\n    pass\n"),
        (tidy.prints, "rocketns/startup.py", "print(1)\n"),
        (tidy.machine_paths, "Dockerfile", "VOLUME /root/namesrv\n"),
        (tidy.machine_paths, "Dockerfile", "WORKDIR /home/rocketmq\nCOPY . /opt/work/x\nRUN ls ${A}/work/b"),
    ],
)
def test_each_rule_passes_allowed_code(tmp_path: Path, rule: Rule, name: str, text: str) -> None:
    plant(tmp_path, name, text)
    assert list(rule(tmp_path)) == []
