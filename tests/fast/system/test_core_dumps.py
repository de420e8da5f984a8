"""keep_secrets_out_of_core_dumps: what the kernel then refuses."""

from __future__ import annotations

import subprocess
import sys

CALL = "keep_secrets_out_of_core_dumps()"
BEFORE = """
import ctypes, os, resource
from rocketns._fast.system.hardening.core_dumps import keep_secrets_out_of_core_dumps
"""
# Without rights over other users' processes; a changed user alone makes a process not dumpable, so it is made so again.
AS_NOBODY = """
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE
"""
# A second process of the same user, which is dumpable itself, asks for what only the first may see.
SPIES = """
if os.fork() == 0:
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    try:
        open(f"/proc/{os.getppid()}/environ", "rb").read()
        print("read")
    except PermissionError:
        print("refused")
else:
    os.wait()
"""


def printed(*script: str) -> str:
    command = [sys.executable, "-c", BEFORE + "\n".join(script)]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True, timeout=60).stdout.strip()


def test_the_limit_of_cores_is_zero() -> None:
    assert printed(CALL, "print(resource.getrlimit(resource.RLIMIT_CORE))") == "(0, 0)"


def test_the_process_is_not_dumpable() -> None:
    asked = "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # PR_GET_DUMPABLE
    assert (printed(asked), printed(CALL, asked)) == ("1", "0")


def test_another_process_of_the_user_reads_nothing_of_it() -> None:
    assert (printed(AS_NOBODY, SPIES), printed(AS_NOBODY, CALL, SPIES)) == ("read", "refused")


def test_the_process_still_reads_its_own_figures() -> None:
    """What a scrape of the management port reads of an unprivileged server."""
    asked = "print(len(os.listdir('/proc/self/fd')) > 0, 'VmRSS' in open('/proc/self/status').read())"
    assert printed(AS_NOBODY, CALL, asked) == "True True"
