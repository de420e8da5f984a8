"""The image's health check, run as the container would run it, beside a name server on another port."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from interop.harness.servers import NameServer

DOCKERFILE = Path(__file__).parents[1] / "Dockerfile"
CHECK_TIMEOUT_S = 30


def test_health_check_follows_the_name_server(start_name_server: Callable[..., NameServer]) -> None:
    """B216: healthy while it answers, unhealthy once it is gone."""
    server = start_name_server()
    assert _status(server.port) == 0
    server.kill()
    assert _status(server.port) != 0


def test_health_check_fails_where_connections_open_but_nothing_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert _status(silent.getsockname()[1]) != 0


def _status(port: int) -> int:
    """The exit status of the HEALTHCHECK command; ``python`` is the one that runs the tests."""
    text = DOCKERFILE.read_text("utf-8").replace("\\\n", "")
    found = re.search(r"^HEALTHCHECK .*? CMD (.*)$", text, re.MULTILINE)
    assert found
    assert found[1].count("9876") == 1
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["sh", "-c", found[1].replace("9876", str(port))]
    return subprocess.run(command, env=os.environ | {"PATH": path}, timeout=CHECK_TIMEOUT_S, check=False).returncode
