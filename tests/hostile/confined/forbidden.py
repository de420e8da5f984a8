"""Calls that no profile allows. ``python -m tests.hostile.confined.forbidden PROFILE.json`` tries each under a profile.

Each has a process of its own, forked before it is confined. The exit statuses are printed as JSON, by name.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.hostile.confined.launching import confine

CALLS = {
    "another family of sockets": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a traced process": "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)",
    "a namespace": "import ctypes; ctypes.CDLL(None).unshare(0x10000000)",
    "a mount": "import ctypes; ctypes.CDLL(None).mount(None, b'/', None, 0, None)",
    "memory to write and execute": "import mmap; mmap.mmap(-1, 4096, prot=7)",
    "another owner of a file": "import os; os.chown('/tmp', 0, 0)",
    "locked memory": "import ctypes; ctypes.CDLL(None).mlock(None, 0)",
}
NOTHING = "nothing"


def status_of(profile: Path, call: str) -> int:
    """As subprocess has it: a signal is negative."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        confine(json.loads(profile.read_text("utf-8")))
        exec(call)
    finally:
        os._exit(0)


if __name__ == "__main__":
    calls = CALLS | {NOTHING: "pass"}
    print(json.dumps({name: status_of(Path(sys.argv[1]), call) for name, call in calls.items()}))
