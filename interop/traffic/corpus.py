"""The corpus of real clients' requests, with the Java name server's answers: where it is, and how it is played.

``python -m interop.traffic.corpus`` records it again, from real clients and the Java name server 5.5.0.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from interop.harness.sending.fleet import Fleet
from interop.harness.servers import JavaNameServer, NameServer
from interop.harness.wire import ANSWER_TIMEOUT_S
from interop.traffic.relay import cut
from rocketns.shadow.recording import read_recording, write_recording
from rocketns.shadow.replay import Player, ReplayConnection, Result
from tests.behaviour import steps

CORPUS = Path(__file__).parents[2] / "tests" / "golden" / "traffic" / "clients.frames"
NOTE = "real clients and the Java name server 5.5.0; peer is the client; made by python -m interop.traffic.corpus"


def play(server: NameServer) -> Result:
    """Play the whole corpus. A read that differs is asked again once all unregistrations are applied: Java, too,
    answers them before that.
    """

    def open_one() -> ReplayConnection:
        return ReplayConnection("127.0.0.1", server.port, None, ANSWER_TIMEOUT_S)

    def settle() -> None:
        with server.connect() as client:
            steps.settle(client)

    return Player(open_one, with_changes=True, settle=settle).play(read_recording(CORPUS))


def main() -> int:
    """Write the corpus. A second run differs in ports and times only."""
    from interop.traffic.story import Recorded

    with tempfile.TemporaryDirectory() as home, Fleet(JavaNameServer, Path(home)) as fleet:
        server = fleet.java()
        recorded = Recorded(fleet, server)
        recorded.play()
    pairs = cut(recorded.heard, server.home)
    CORPUS.unlink(missing_ok=True)
    written = write_recording(CORPUS, ((pair, None) for pair in pairs), NOTE)
    CORPUS.chmod(0o644)
    print(f"{written} of {len(recorded.heard)} pairs, {CORPUS.stat().st_size} bytes: {CORPUS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
