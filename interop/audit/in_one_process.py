"""Runs `rocketns audit` several times in one process, so that Java starts and compiles once.

On standard input a list of command lines, in JSON; on standard output for each its exit status and what it printed.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from rocketns.__main__ import main


def run(arguments: Sequence[str]) -> tuple[int, str]:
    """Exit status and output of one command line."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = main(arguments)
    return status, said.getvalue()


if __name__ == "__main__":
    json.dump([run(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
