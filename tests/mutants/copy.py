"""A copy of the source tree in which faults are planted, built and tested, one after the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.mutants.fault import Fault

ROOT = Path(__file__).resolve().parents[2]
TESTS_S_MAX = 300
BUILD_S_MAX = 600
PYTEST = ["-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-n", "0", "--benchmark-disable"]


class Copy:
    """All files that git tracks, with uncommitted changes, and what was built from them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self._has_faulty_build = False
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        folders = [ROOT / "rocketns" / "_fast", ROOT / "tests" / "compiled"]
        built = [str(path.relative_to(ROOT)) for folder in folders for path in folder.rglob("*.so")]
        for name in [*filter(None, names.split("\0")), *built]:
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        if (made := ROOT / "build" / "cython").is_dir():  # without it the first compiled fault takes longer
            shutil.copytree(made, folder / "build" / "cython", dirs_exist_ok=True)

    def build(self) -> None:
        """Compile what changed. subprocess.CalledProcessError where it does not compile."""
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        environment = os.environ | {"ROCKETNS_TESTS": "1"}
        subprocess.run(command, cwd=self.root, env=environment, check=True, capture_output=True, timeout=BUILD_S_MAX)

    def passes_without_fault(self, tests: tuple[str, ...]) -> bool:
        """Like `passes`, but first compiles without the last fault what was compiled with it."""
        if self._has_faulty_build:
            self.build()
            self._has_faulty_build = False
        return self.passes(tests)

    def passes(self, tests: tuple[str, ...]) -> bool:
        """Whether the tests pass. Those that crash, or do not end in TESTS_S_MAX seconds, fail."""
        of_copy = {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        environment = os.environ | of_copy | {"ROCKETNS_SHRINK": "0"}  # that a test fails is enough
        try:
            ended = subprocess.run([sys.executable, *PYTEST, *tests], cwd=self.root, env=environment,
                                   capture_output=True, timeout=TESTS_S_MAX, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        if ended.returncode > 1:
            raise RuntimeError(f"pytest ended with {ended.returncode}: {ended.stdout.decode()[-2000:]}")
        return ended.returncode == 0

    def catches(self, fault: Fault) -> bool:
        """Whether the tests fail with the fault. The source is restored, but not what was compiled from it."""
        before = fault.plant(self.root)
        try:
            if fault.is_compiled:
                self._has_faulty_build = True
                self.build()
            return not self.passes(fault.tests)
        finally:
            (self.root / fault.file).write_text(before, "utf-8")
