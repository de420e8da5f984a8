"""A start that is stopped while it looks for routes, which may take half a minute."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest

from interop.harness.process import Process
from rocketns.config import Configuration
from rocketns.journal.restore import restoring
from rocketns.namesrv_controller import NamesrvController
from tests.journal.files import closed_files, open_files


def test_sigterm_ends_a_start_that_waits_for_another_name_server(tmp_path: Path) -> None:
    """At once, with status 0, and without a word in the journal."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        config = {"listenPort": 0, "bindAddress": "127.0.0.1", "kvConfigPath": tmp_path / "kv.json",
                  "journalPath": tmp_path / "j", "rocketns.seedServers": f"127.0.0.1:{port}"}  # fmt: skip
        (tmp_path / "ns.properties").write_text("".join(f"{key}={value}\n" for key, value in config.items()), "utf-8")
        command = [sys.executable, "-m", "rocketns", f"-Duser.home={tmp_path}", "-c", str(tmp_path / "ns.properties")]
        process = Process(command, tmp_path / "stdout.log", {}, cwd=tmp_path)
        try:
            asking, _ = silent.accept()
            with asking:
                process.signal(signal.SIGTERM)
                assert process.wait(60) == 0
        finally:
            process.kill()
    assert "stopped before the start was complete" in process.text()
    assert "boot success" not in process.text()
    assert "Traceback" not in process.text()
    assert not closed_files(tmp_path / "j")
    assert not open_files(tmp_path / "j")


def test_a_cancelled_start_does_not_go_on_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends when the reading thread does."""
    reading, ended = threading.Event(), threading.Event()

    def slow_restore(*given: object) -> None:
        given_up = given[-1]
        assert isinstance(given_up, threading.Event)
        reading.set()
        if given_up.wait(60):
            ended.set()

    monkeypatch.setattr(restoring, "restore", slow_restore)
    config = tmp_path / "ns.properties"
    settings = {"listenPort": 0, "bindAddress": "127.0.0.1", "kvConfigPath": tmp_path / "kv.json",
                "journalPath": tmp_path / "j", "rocketns.reactors": 0}  # fmt: skip
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")

    async def start_and_stop() -> None:
        controller = NamesrvController(Configuration.build(str(config), home=tmp_path))
        starting = asyncio.ensure_future(controller.start())
        await asyncio.to_thread(reading.wait, 60)
        starting.cancel()
        await asyncio.wait({starting})
        await controller.stop()

    asyncio.run(start_and_stop())
    assert ended.is_set()
    assert not open_files(tmp_path / "j")
