"""Where the corpus is, and how it is played to a fresh name server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from interop.harness.servers import NameServer
from interop.harness.wire import ANSWER_TIMEOUT_S
from rocketns.shadow.recording.file import Recording
from rocketns.shadow.replaying.choosing import Choice, Pace
from rocketns.shadow.replaying.connection import Connection
from rocketns.shadow.replaying.playing import Player
from rocketns.shadow.replaying.result import Result
from tests.behaviour import steps

CORPUS = Path(__file__).parents[2] / "tests" / "golden" / "traffic" / "clients.frames"
NOTE = "real clients and the Java name server 5.5.0; peer is the client; made by python -m interop.traffic.capture"


def play(server: NameServer) -> Result:
    """Play the whole corpus. A read that differs is asked again once all unregistrations are applied: Java, too,
    answers them before that.
    """
    return asyncio.run(_play(server))


async def _play(server: NameServer) -> Result:

    async def open_one() -> Connection:
        return await Connection.open("127.0.0.1", server.port, None, ANSWER_TIMEOUT_S)

    def settle() -> None:
        with server.connect() as client:
            steps.settle(client)

    async def until_settled(_seconds: float) -> None:
        await asyncio.to_thread(settle)

    pace = Pace(asyncio.get_running_loop().time, until_settled)
    player = Player(open_one, Choice(with_changes=True), pace, until_settled, settle_s=1.0)
    return await player.play(Recording(CORPUS).pairs())
