"""What the own half's process runs: `rocketns`, which ends with the process that started it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rocketns.shadow.ending import end_with_parent
from rocketns.startup import main as name_server


def main(arguments: Sequence[str]) -> int:
    """Run the name server until it is stopped, or the parent is gone; return the exit status."""
    end_with_parent()
    return name_server(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
