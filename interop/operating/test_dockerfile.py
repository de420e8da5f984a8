"""The image's health check, run as the container would run it, beside a name server on another port."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from interop.harness.sending.fleet import Fleet

CHECK = Path(__file__).parents[2] / "packaging" / "docker" / "bin" / "health"
CHECK_TIMEOUT_S = 90


def test_health_check_follows_the_name_server(fleet: Fleet) -> None:
    """B216: healthy while it answers, unhealthy once it is gone."""
    server = fleet.name_server()
    assert _status(server.port) == 0
    server.kill()
    assert _status(server.port) != 0


def test_health_check_fails_where_connections_open_but_nothing_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert _status(silent.getsockname()[1]) != 0


def _status(port: int) -> int:
    """The exit status of the check, run by the Python that runs the tests."""
    return subprocess.run([sys.executable, str(CHECK), str(port)], timeout=CHECK_TIMEOUT_S, check=False).returncode
