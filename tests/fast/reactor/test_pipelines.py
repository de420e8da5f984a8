"""More lookups in one piece than a connection's turn can answer."""

from __future__ import annotations

from pathlib import Path

from tests.fast.clients import CLIENTS, look_up
from tests.support.live import LiveServer

LOOK_UPS = 2_000


def test_lookups_beyond_a_turn_are_answered_without_further_bytes(tmp_path: Path) -> None:
    with LiveServer(tmp_path, reactors=1) as server, server.connect() as client:
        expected = server.reference(look_up(CLIENTS[0], "nobody's"))
        client.send(look_up(CLIENTS[0], "nobody's") * LOOK_UPS)
        for _ in range(LOOK_UPS):
            assert client.receive_frame() == expected
