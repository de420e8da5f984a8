"""Facts about the machine and the measured programs: only kinds and versions, no names of hosts or users."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from benchmarks.servers.kinds import JAVAS, LABELS, RUST, ServerKind, java_options
from benchmarks.servers.programs import CRATE, CRATE_VERSION
from benchmarks.servers.running import JAVA_HEAP_MB

MEMORY_KIB = r"^MemTotal:\s*(\d+)"
ROOT = Path(__file__).parents[2]
COMMAND_TIMEOUT_S = 30
# The files that figures depend on. The results are written during the run, so they do not count.
MEASURED = ("rocketns", "benchmarks", "interop/harness", ":!benchmarks/results")


def load_average() -> str:
    """Over 1, 5 and 15 minutes. The benchmark itself makes two or three; more means that others disturbed it."""
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def facts(kinds: dict[str, ServerKind]) -> dict[str, str]:
    """The facts on which the figures depend."""
    known = {
        "processor": _found(r"^model name\s*:\s*(.*)$", "/proc/cpuinfo") or platform.machine(),
        "cores": f"{os.cpu_count()}",
        "memory": f"{int(_found(MEMORY_KIB, '/proc/meminfo') or 0) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "C compiler": _first_line("cc", "--version"),
    }
    for key in [key for key in JAVAS if key in kinds]:
        known["Java"] = _first_line("java", "-version")
        known[LABELS[key]] = " ".join(java_options(key, JAVA_HEAP_MB))
    if RUST in kinds:
        known["Rust"] = f"{CRATE} {CRATE_VERSION}, {_first_line('rustc', '--version')}"
    return known


def commit(checkout: Path = ROOT) -> str:
    """The commit, and whether rocketns or the benchmarks have uncommitted changes."""
    short = _first_line("git", "-C", str(checkout), "rev-parse", "--short", "HEAD")
    changed = _first_line("git", "-C", str(checkout), "status", "--porcelain", "--", *MEASURED)
    return f"{short} with changes" if changed else short


def _found(pattern: str, path: str) -> str:
    match = re.search(pattern, Path(path).read_text("utf-8"), re.MULTILINE)
    return match[1] if match else ""


def _first_line(*command: str) -> str:
    """The first line that a command prints; empty if the command is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return next(iter((done.stdout or done.stderr).splitlines()), "")
