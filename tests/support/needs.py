"""What a test needs of the machine: skipped with the reason where it is missing, and failed in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import NoReturn

import pytest

IN_CI = os.environ.get("CI") == "true"
# Programs with several names, or that are of use only together.
PROGRAMS = {
    "chromium": (("chromium", "chromium-browser", "google-chrome"),),
    "docker": (("docker",), ("dockerd",), ("docker-compose",), ("mmdebstrap",)),
    "prometheus": (("prometheus",), ("promtool",), ("prometheus-alertmanager", "alertmanager")),
}


def found(program: str) -> str | None:
    """The path of a program that ``pytest.mark.needs`` names; of several parts, that of the first."""
    parts = [next(filter(None, map(shutil.which, names)), None) for names in PROGRAMS.get(program, ((program,),))]
    return parts[0] if all(parts) else None


def not_run(reason: str) -> NoReturn:
    """Skip the test; in CI, where .ci/run installs all that is needed, fail it."""
    if IN_CI:
        pytest.fail(f"{reason}; .ci/run has to install it", pytrace=False)
    pytest.skip(reason)


def check(programs: Iterable[str]) -> None:
    """`not_run` where one of the programs is missing."""
    if absent := [name for name in dict.fromkeys(programs) if found(name) is None]:
        not_run(f"not on the PATH: {', '.join(absent)}")
