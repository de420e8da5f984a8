"""Runs pytest with these arguments; the few tests that fail beside others run once more, alone, and are named.

The machine that runs thousands of tests is shared: one of them may lose seconds at the one moment that counts. What
fails alone, too, fails the run, and so do more than FEW.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running.until import UNTIL

FEW = 8
# Comparisons with Java look for differences that occur only now and then: one failure is enough.
ONCE = "interop/parity/"
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
TITLE = "FAILED BESIDE OTHER TESTS, PASSED ALONE; the test or rocketns has a fault all the same:"


def main(arguments: list[str]) -> int:
    """The exit status of pytest."""
    LAST_FAILED.unlink(missing_ok=True)
    status = _run(arguments)
    failed = _failed()
    if status != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= FEW or any(ONCE in test for test in failed):
        return status
    os.environ.pop(UNTIL, None)  # a test that is left out would have passed
    print(f"\nonce more, alone: {', '.join(failed)}", flush=True)
    status = _run([*arguments, "--last-failed", "-n", "0"])
    if status == pytest.ExitCode.OK:
        print("", TITLE, *failed, sep="\n", flush=True)
    return status


def _run(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def _failed() -> list[str]:
    """Ids of tests, or of modules that could not be imported."""
    return sorted(json.loads(LAST_FAILED.read_text("utf-8"))) if LAST_FAILED.exists() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
