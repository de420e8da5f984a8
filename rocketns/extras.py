"""Optional parts: what is missing, and what installs it from where this program is. No package index has rocketns."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from rocketns.errors import StartupError


def install_command(extra: str) -> str:
    """The command for a shell. pip takes the extra from the rocketns that this Python has."""
    return f"{shlex.quote(sys.executable)} -m pip install 'rocketns[{extra}]'"


def check_installed(asked: str, extra: str, needed: Mapping[str, str]) -> None:
    """StartupError if a library of an optional part is missing. ``needed``: names of projects by those of modules."""
    missing = [project for module, project in needed.items() if find_spec(module) is None]
    if missing:
        raise StartupError(f"{asked} needs {' and '.join(missing)}. Install the extra: {install_command(extra)}")
