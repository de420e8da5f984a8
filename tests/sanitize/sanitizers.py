"""The sanitizers: how a build and a process get them, and which of their reports are about rocketns."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ROOT / "build" / "sanitize"
OURS = re.compile(r"(rocketns/_fast(/\w+)+|tests/sanitize|tests/compiled)/\w+\.(c|pyx|pxd|cpython)")


@dataclass(frozen=True)
class Sanitizer:
    """``flags`` as the compiler has them; ``options`` by the environment variables that the runtimes read.

    ``finds`` are words of its report on each fault that `inside.plant` knows and it must see.
    """

    name: str
    flags: str
    runtime: str
    finds: dict[str, str]
    options: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return BUILDS / self.name

    @cached_property
    def runtime_file(self) -> Path | None:
        """The runtime, which must be loaded first, because Python itself was compiled without the sanitizer."""
        compiler = shlex.split(os.environ.get("CC", "cc"))
        if shutil.which(compiler[0]) is None:
            return None
        asked = [*compiler, f"-print-file-name={self.runtime}"]
        found = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
        return found if found.is_absolute() else None

    def environment(self, log: Path) -> dict[str, str]:
        options = {name: f"{text}:log_path={log}" for name, text in self.options.items()}
        return os.environ | options | {"LD_PRELOAD": str(self.runtime_file), "PYTHONMALLOC": "malloc"}

    @cached_property
    def command(self) -> list[str] | None:
        """The command that starts Python with the runtime; None if that fails, as it does on some kernels."""
        BUILDS.mkdir(parents=True, exist_ok=True)
        for prefix in ([], ["setarch", "-R"]):
            if self.runtime_file is not None and (not prefix or shutil.which(prefix[0])):
                log = BUILDS / f"{self.name}-start"
                started = subprocess.run([*prefix, sys.executable, "-c", ""], env=self.environment(log), check=False)
                if started.returncode == 0:
                    return [*prefix, sys.executable]
        return None

    def missing(self) -> str | None:
        """The reason why it cannot be used here."""
        if self.runtime_file is None:
            return f"{self.runtime} was not found beside the C compiler"
        return None if self.command else f"Python does not start with {self.runtime_file}"

    def build(self) -> None:
        """Compile changed modules into the folder. The builds share Cython's C files, so they take turns."""
        command = [sys.executable, "setup.py", "-q", "build_ext", f"--parallel={os.cpu_count()}"]
        command += [f"--build-lib={self.folder}", f"--build-temp={self.folder / 'temp'}"]
        environment = os.environ | {"ROCKETNS_SANITIZE": self.flags}
        with (BUILDS / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if built.returncode:
            raise SystemExit(f"{self.name}: the build failed\n{built.stdout}{built.stderr}")


def faults(report: str) -> list[str]:
    """The part of a report file about rocketns: everything but memory that other libraries never freed."""
    blocks = re.split(r"\n\n(?=(?:Direct|Indirect) leak of)|\n={18}\n", report)
    return [block for block in blocks if block.strip("=\n ") and not _is_leak_of_others(block)]


def _is_leak_of_others(block: str) -> bool:
    """A block allocated by another library's function, or the text around the leaks. Frame 0 is the allocator."""
    if "leak of" in block:
        return OURS.search("\n".join(line for line in block.splitlines() if re.match(r" +#1 ", line))) is None
    return "LeakSanitizer: detected memory leaks" in block


# The thread assertions (rocketns/_fast/system/threads.pxd). Both builds have the same; one has to show them.
WRONG_THREAD = "rocketns: wrong thread in "
WRONG_THREADS = {
    "reactor_thread": WRONG_THREAD + "resume_stalled",
    "control_thread": WRONG_THREAD + "deliver",
    "routes_thread": WRONG_THREAD + "RouteSlots.lock",
}

SANITIZERS = (
    Sanitizer(
        "address",
        "address,undefined",
        "libasan.so",
        {"overrun": "heap-buffer-overflow", "undefined": "signed integer overflow", "leak": "leak of 12345 byte"}
        | WRONG_THREADS,
        {
            "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        },
    ),
    Sanitizer(
        "thread",
        "thread",
        "libtsan.so",
        {"race": "data race"},
        {"TSAN_OPTIONS": "second_deadlock_stack=1:history_size=4"},
    ),
)
