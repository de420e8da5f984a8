"""``make mutants``: plant each fault of faults.toml in a copy of the code, and say which of them no test notices.

Exit status 1 where a fault survives. Each fault replaces one text of one file; its tests run until the first fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Against hangs: a test that does not end in this time has failed.
TESTS_S_MAX = 900
BUILD_S_MAX = 900
PYTEST = ("-m", "pytest", "-x", "-q", "-n", "0", "-m", "not slow", "-p", "no:cacheprovider")
BUILT = (".so", ".mo")


@dataclass(frozen=True)
class Fault:
    """``old`` occurs once in ``file``; ``tests`` are files and folders of tests."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def is_compiled(self) -> bool:
        return self.file.endswith((".pyx", ".pxd"))


def faults() -> list[Fault]:
    """The whole table; those of one file follow each other, and the compiled ones come last."""
    rows = tomllib.loads(Path(__file__).with_name("faults.toml").read_text("utf-8"))["fault"]
    every = [Fault(**(row | {"tests": tuple(row["tests"])})) for row in rows]
    return sorted(every, key=lambda fault: (fault.is_compiled, fault.file))


class Copy:
    """The files that git tracks, with uncommitted changes, and what was built from them, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        made = [path for top in ("rocketns", "tests", "build/cython") for path in (ROOT / top).rglob("*")]
        built = [path.relative_to(ROOT) for path in made if path.suffix in BUILT or "cython" in path.parts]
        for name in [*map(Path, filter(None, names.split("\0"))), *built]:
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def build(self) -> None:
        """Compile what changed. subprocess.CalledProcessError where it does not compile."""
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        environment = os.environ | {"ROCKETNS_TESTS": "1"}
        subprocess.run(command, cwd=self.root, env=environment, check=True, capture_output=True, timeout=BUILD_S_MAX)

    def passes(self, tests: tuple[str, ...]) -> bool:
        """Whether the tests pass. Those that crash or hang fail; RuntimeError where pytest could not run them."""
        environment = os.environ | {"PYTHONPATH": str(self.root), "ROCKETNS_SHRINK": "0"}
        command = [sys.executable, *PYTEST, *tests]
        try:
            ended = subprocess.run(
                command, cwd=self.root, env=environment, capture_output=True, timeout=TESTS_S_MAX, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        if ended.returncode > 1:
            raise RuntimeError(f"pytest ended with {ended.returncode}: {ended.stdout.decode()[-2000:]}")
        return ended.returncode == 0

    def catches(self, fault: Fault) -> bool:
        """Whether the tests fail with the fault. ValueError where the code no longer has the text once."""
        path = self.root / fault.file
        before = path.read_text("utf-8")
        if before.count(fault.old) != 1 or fault.old == fault.new:
            raise ValueError(f"{fault.name}: {fault.file} has the text {before.count(fault.old)} times: {fault.old!r}")
        path.write_text(before.replace(fault.old, fault.new), "utf-8")
        try:
            if fault.is_compiled:
                self.build()
            return not self.passes(fault.tests)
        finally:
            path.write_text(before, "utf-8")
            if fault.is_compiled:
                self.build()


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only faults with one of these words in their name or file")
    wanted = parser.parse_args(words).names or [""]
    survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for fault in faults():
            if any(word in fault.name or word in fault.file for word in wanted):
                caught = copy.catches(fault)
                survived += not caught
                print(f"{fault.name}: {'caught' if caught else 'SURVIVED'}", flush=True)
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
