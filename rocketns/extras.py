"""What installs an optional part from where this program is: no package index has rocketns."""

from __future__ import annotations

import shlex
import sys


def install_command(extra: str) -> str:
    """The command for a shell. pip takes the extra from the rocketns that this Python has."""
    return f"{shlex.quote(sys.executable)} -m pip install 'rocketns[{extra}]'"
