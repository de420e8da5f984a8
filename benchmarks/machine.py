"""The machine and the programs that were measured, without naming anything but their kinds and versions."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import psutil


def load_average() -> str:
    """Over 1, 5 and 15 minutes: more than the benchmark's own two or three means that others disturbed it."""
    return " ".join(f"{load:.2f}" for load in os.getloadavg())


def facts(java_command: list[str] | None, load_before: str) -> dict[str, str]:
    """What the numbers depend on, asked for at the end. ``java_command`` is the started one, whose options count."""
    known = {
        "processor": _processor(),
        "cores": f"{os.cpu_count()}",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load average before": load_before,
        "load average after": load_average(),
        "Python": platform.python_version(),
    }
    if java_command:
        said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
        options = " ".join(word for word in java_command if word.startswith("-X"))
        known["Java"] = f"{said.splitlines()[0]}, {options}"
    return known


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    return found[1] if found else platform.machine()
