"""The image's seccomp profile as it is, and the service unit's filter of system calls in the same form."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

from tests.check.source import ROOT

IMAGE = ROOT / "packaging" / "docker" / "seccomp.json"
UNIT = ROOT / "packaging" / "systemd" / "rocketns.service"
ANALYZE = shutil.which("systemd-analyze")
# What systemd makes of MemoryDenyWriteExecute=, RestrictAddressFamilies= and RestrictNamespaces=; the image's rules for
# these calls say the same.
BY_ARGUMENTS = {"mmap", "mprotect", "socket", "clone", "clone3"}

Profile = dict[str, Any]


def of_the_image() -> Profile:
    return dict(json.loads(IMAGE.read_text("utf-8")))


def of_the_unit() -> Profile:
    """The calls that its SystemCallFilter= lines leave, and the image's rules where arguments are judged."""
    names = allowed_by_the_unit() - BY_ARGUMENTS
    rules = [rule for rule in of_the_image()["syscalls"] if set(rule["names"]) <= BY_ARGUMENTS]
    return {"syscalls": [{"names": sorted(names), "action": "SCMP_ACT_ALLOW"}, *rules]}


def allowed_by_the_unit() -> set[str]:
    """As systemd reads the lines: the first one is an allow list, ``~`` takes away, later lines add again."""
    allowed: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text("utf-8"), re.M):
        names = {name for word in line.removeprefix("~").split() for name in members(word)}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return allowed


def members(word: str) -> set[str]:
    """A system call by itself, and all that are in a set (``@file-system``), by this machine's systemd."""
    if not word.startswith("@"):
        return {word}
    command = [str(ANALYZE), "syscall-filter", "--no-pager", word]
    listed = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()[1:]
    words = [line.strip() for line in listed if not line.strip().startswith("#")]
    return {name for one in words if one for name in members(one)}
