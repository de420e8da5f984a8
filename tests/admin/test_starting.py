"""When the management port is opened, and the server's message if that fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interop.harness.ports import free_port
from rocketns import startup
from rocketns.config import Configuration
from rocketns.errors import StartupError
from rocketns.namesrv_controller import NamesrvController


def configuration(home: Path, text: str) -> Configuration:
    file = home / "c.properties"
    file.write_text(f"listenPort=0\nbindAddress=127.0.0.1\n{text}", "utf-8")
    return Configuration.build(str(file), home=home)


def test_a_missing_library_stops_the_start_and_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "ADMIN_NEEDS", {"no_such_module": "no-such-library"})
    controller = NamesrvController(configuration(tmp_path, "rocketns.adminPort=9877\n"))
    with pytest.raises(StartupError, match=r"no-such-library.*pip install 'rocketns\[admin\]'"):
        startup.make_ports(controller)


def test_a_port_that_another_server_is_about_to_use_stops_the_start(tmp_path: Path) -> None:
    """Both can bind the port, but only one of them can listen."""
    shared = configuration(tmp_path, f"rocketns.adminPort={free_port()}\n")
    first, second = NamesrvController(shared), NamesrvController(shared)
    admin, _ = startup.make_ports(first)
    assert admin is not None
    with pytest.raises(StartupError, match=r"the management port: Failed to bind to .*adminPort"):
        startup.make_ports(second)
    admin.stop()


def test_a_server_without_a_management_port_imports_nothing_of_it() -> None:
    code = (
        "import sys, rocketns.startup\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('aiohttp', 'prometheus_client', 'yarl')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert shown.stdout.strip() == "[]"
