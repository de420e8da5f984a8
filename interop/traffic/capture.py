"""``python -m interop.traffic.capture``: record the corpus again, from real clients and the Java name server 5.5.0."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from interop.harness.sending.fleet import Fleet
from interop.harness.servers import JavaNameServer
from interop.traffic.corpus import CORPUS, NOTE
from interop.traffic.cutting import cut
from interop.traffic.story import Recorded
from rocketns.shadow.recording.file import Recorder


def main() -> int:
    """Write the corpus. A second run differs in ports and times only."""
    with tempfile.TemporaryDirectory() as home, Fleet(JavaNameServer, Path(home)) as fleet:
        server = fleet.java()
        recorded = Recorded(fleet, server)
        recorded.play()
    pairs = cut(recorded.heard.pairs, server.home)
    CORPUS.unlink(missing_ok=True)
    with Recorder(CORPUS, note=NOTE) as recorder:
        for pair in pairs:
            recorder.record(pair)
    CORPUS.chmod(0o644)
    print(f"{recorder.recorded} of {len(recorded.heard.pairs)} pairs, {CORPUS.stat().st_size} bytes: {CORPUS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
