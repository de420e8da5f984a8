"""The image's seccomp profile and the service unit's filter, and a program that is started under one.

``python confined.py PROFILE.json PROGRAM ARGUMENT...``. The profile is as Docker reads it, but the program is killed
(SIGSYS) where the profile's default is an error: a call that is not allowed fails the test in any case.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]  # it also runs as a script
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


LIBRARY = "libseccomp.so.2"  # in every Debian, because apt needs it
ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
OPERATORS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
UNKNOWN = -1  # a call that this processor does not have


class Comparison(ctypes.Structure):
    """``struct scmp_arg_cmp``."""

    _fields_ = (
        ("arg", ctypes.c_uint), ("op", ctypes.c_int), ("datum_a", ctypes.c_uint64), ("datum_b", ctypes.c_uint64)
    )  # fmt: skip


def library() -> ctypes.CDLL:
    """OSError where it is not installed."""
    found = ctypes.CDLL(LIBRARY)
    found.seccomp_init.argtypes, found.seccomp_init.restype = [ctypes.c_uint32], ctypes.c_void_p
    found.seccomp_load.argtypes = [ctypes.c_void_p]
    found.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Comparison)
    ]  # fmt: skip
    return found


def confine(profile: dict[str, Any]) -> None:
    """From now on, and after exec, this process and its threads may make the calls of the profile alone."""
    seccomp = library()
    context = seccomp.seccomp_init(KILL_PROCESS)
    for rule in profile["syscalls"]:
        action = ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else ERRNO | rule["errnoRet"]
        compared = [Comparison(a["index"], OPERATORS[a["op"]], a["value"], a["valueTwo"]) for a in rule.get("args", ())]
        for name in rule["names"]:
            number = seccomp.seccomp_syscall_resolve_name(name.encode())
            if number != UNKNOWN:
                array = (Comparison * len(compared))(*compared)
                check(seccomp.seccomp_rule_add_array(context, action, number, len(compared), array), name)
    check(seccomp.seccomp_load(context), "load")


def check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(-result, f"libseccomp: {what}: {os.strerror(-result)}")


if __name__ == "__main__":
    confine(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    os.execv(sys.argv[2], sys.argv[2:])
