"""One server, all attacks at once for a while, honest peers beside them; then the waits, and what remains."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from interop.harness.servers import AsyncioServer, NameServer
from interop.harness.wire import eventually
from tests.hostile.adversary.honest import OF_NEW, Honest
from tests.hostile.watch import MB, Watch

ROOT = Path(__file__).resolve().parents[3]
INCOMING_BYTES_MAX = OUTGOING_BYTES_MAX = 64 * MB
PROPERTIES: dict[str, object] = {
    "rocketns.incomingBytesMax": INCOMING_BYTES_MAX,
    "rocketns.outgoingBytesTotalMax": OUTGOING_BYTES_MAX,
}
# Memory for frames being decoded, and for unfinished frames and unsent answers.
GROWTH_MAX = 200 * MB + INCOMING_BYTES_MAX + OUTGOING_BYTES_MAX
LEFT_MAX = 100 * MB
WAIT_S_MAX = 1.0
# Without reactors one thread accepts, reads and serves, so a new connection also waits behind the others that the
# kernel keeps for it, 1,024 at the most.
NEW_WAIT_S_MAX_ON_ASYNCIO = 2.0


@dataclass(frozen=True)
class Outcome:
    """Bytes, and the waits of honest peers in seconds by request."""

    growth: int
    left: int
    waits: dict[str, list[float]]
    mode: str

    def lines(self) -> list[str]:
        shown = [
            f"{what}: {len(waits)} times, median {sorted(waits)[len(waits) // 2] * 1000:.1f} ms, "
            f"longest {max(waits) * 1000:.1f} ms"
            for what, waits in sorted(self.waits.items())
        ]
        return [f"memory: {self.growth / MB:.0f} MB more at the peak, {self.left / MB:.0f} MB afterwards", *shown]

    def faults(self) -> list[str]:
        """The figures beyond the stated bounds."""
        late = [
            f"{what} waited {max(waits):.2f} s, more than {most} s"
            for what, waits in self.waits.items()
            if max(waits) > (most := self._wait_s_max(what))
        ]
        grown = [f"{self.growth / MB:.0f} MB at the peak"] if self.growth > GROWTH_MAX else []
        kept = [f"{self.left / MB:.0f} MB kept"] if self.left > LEFT_MAX else []
        return [*late, *grown, *kept]

    def _wait_s_max(self, what: str) -> float:
        return NEW_WAIT_S_MAX_ON_ASYNCIO if self.mode == AsyncioServer.mode and what in OF_NEW else WAIT_S_MAX


def run(server: NameServer, seconds: float) -> Outcome:
    """AssertionError if an honest peer got a wrong answer or none."""
    watch = Watch(server)
    attack = [sys.executable, "-m", "tests.hostile.adversary.attacks", str(server.port), str(seconds)]
    with subprocess.Popen(attack, cwd=ROOT) as strangers, Honest(server) as honest:
        status = strangers.wait(seconds + 120)
    assert status == 0
    for failure in honest.failures:
        raise failure
    growth = watch.peak_growth()
    eventually(lambda: watch.fds() <= watch.fds_before, 30)
    with contextlib.suppress(AssertionError):  # free memory goes back every 10 s
        eventually(lambda: watch.rss() - watch.rss_before <= LEFT_MAX / 2, 15)
    return Outcome(growth, watch.rss() - watch.rss_before, honest.waits.of, server.mode)
