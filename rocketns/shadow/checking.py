"""What a shadow cannot start with: said at once, not after days, or by a loop of connections to itself."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from rocketns.errors import StartupError

WILDCARDS = ("0.0.0.0", "::", "")


def check_record(path: Path) -> None:
    """StartupError if there is such a file or link, or it could not be made."""
    if os.path.lexists(path):
        raise StartupError(f"the recording {path} exists, and is not overwritten. Move it away, or name another file")
    if not os.access(path.parent, os.W_OK):
        raise StartupError(
            f"the recording cannot be written to {path}. Name a file in a folder that is there and yours"
        )


def check_upstream(upstream: tuple[str, int], bind: str, port: int) -> None:
    """StartupError if the upstream is the shadow itself. One that cannot be resolved now may be so later."""
    host, its = upstream
    if its != port:
        return
    try:
        found = {str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return
    if any(address == bind or (bind in WILDCARDS and _is_of_this_machine(address)) for address in found):
        raise StartupError(f"the upstream {host}:{port} is the shadow itself. Move the name server to another port, "
                           "and name that as --upstream")  # fmt: skip


def _is_of_this_machine(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True
