"""`rocketns doctor` on a machine, in a process that is forked from one which has imported it: that takes a fifth of the
CPU time of `python -m rocketns doctor`, which `tests/doctor/test_output.py` runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from interop.doctor.network import Machine

TIMEOUT_S = 120
_prepared = get_context("forkserver")
_prepared.set_forkserver_preload(["interop.doctor.prepared", "rocketns.doctor.cli"])


@dataclass(frozen=True)
class Said:
    status: int | None
    stdout: str
    stderr: str


def doctor(machine: Machine, words: Sequence[str]) -> Said:
    """Run it to its end; without a status where it had to be killed."""
    with TemporaryDirectory() as folder:
        out, err = Path(folder) / "stdout", Path(folder) / "stderr"
        process = _prepared.Process(target=_run, args=(machine.path, words, out, err))
        process.start()
        process.join(TIMEOUT_S)
        process.kill()
        process.join()
        return Said(process.exitcode, out.read_text("utf-8"), err.read_text("utf-8"))


def _run(namespace: str, words: Sequence[str], out: Path, err: Path) -> None:
    from interop.doctor.network import enter
    from rocketns.doctor.cli import main

    for descriptor, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    enter(os.open(namespace, os.O_RDONLY | os.O_CLOEXEC))
    os.environ["LC_ALL"] = "C.UTF-8"
    sys.exit(main(words))
