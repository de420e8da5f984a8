"""`--record`: what was answered is in the file when the shadow has ended."""

from __future__ import annotations

from pathlib import Path

from interop.harness.servers import RocketnsServer
from rocketns.shadow.recording.file import Recording
from tests.shadow.whole.shadows import Shadow, register, routed

CLIENTS = 30


def test_each_request_of_clients_that_ask_once_and_leave_is_recorded(tmp_path: Path) -> None:
    upstream = RocketnsServer(tmp_path / "upstream")
    shadow = Shadow(tmp_path, upstream.port, "--record", str(tmp_path / "pairs.frames"))
    with shadow.connect() as broker:
        register(broker)
        for _ in range(CLIENTS):
            with shadow.connect() as client:
                assert routed(client)
    assert shadow.stop() == 0
    upstream.kill()
    assert len(list(Recording(tmp_path / "pairs.frames").pairs())) == 1 + CLIENTS
