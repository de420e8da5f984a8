"""The machine and the programs that were measured, without naming anything but their kinds and versions."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import psutil


def facts(java_command: list[str] | None) -> dict[str, str]:
    """What the numbers depend on. ``java_command`` is the started command, whose options count."""
    known = {
        "processor": _processor(),
        "cores": f"{os.cpu_count()}",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load average at the start": " ".join(f"{load:.2f}" for load in os.getloadavg()),
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
