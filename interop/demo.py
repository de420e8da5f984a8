"""``make demo``: rocketns with its status page, a real broker, a producer and a consumer, the doctor and the audit.

Each step is printed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from interop.harness import views
from interop.harness.ports import free_port
from interop.harness.rocketmq.classes import compiled
from interop.harness.rocketmq.java import CURRENT
from interop.harness.rocketmq.maven import cache_folder, missing_tools
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually

MESSAGES, SHOWN_EVERY = 100, 25
TOPIC = "DemoTopic"
REPORT = Path("build", "demo")
GONE_WITHIN_S = 60.0

_started_at = time.monotonic()


def main() -> int:
    """0 if every message arrived once, 1 if not or if something is missing here, 130 after Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if missing := missing_tools():
        print(f"The demo runs a real RocketMQ broker, which needs a Java development kit and Maven. Not found on the "
              f"PATH: {', '.join(missing)} (Debian, Ubuntu: apt-get install default-jdk-headless maven).",
              file=sys.stderr)  # fmt: skip
        return 1
    try:
        say(f"Looking for RocketMQ {CURRENT} in {cache_folder()} (fetched with Maven the first time, about 100 MB).")
        compiled(CURRENT)
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            Fleet(RocketnsServer, Path(folder)) as fleet,
        ):
            try:
                complete = _demo(fleet, Path(folder, "journal"))
                _audit(Path(folder, "journal"))
                return 0 if complete else 1
            finally:
                # A second Ctrl-C must not leave a process running.
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(number, signal.SIG_IGN)
    except KeyboardInterrupt:
        say("Interrupted; everything that was started has been stopped.")
        return 130
    except (AssertionError, OSError, subprocess.SubprocessError) as failure:
        say(f"The demo has failed: {failure}")
        return 1


def say(text: str) -> None:
    print(f"[{time.monotonic() - _started_at:5.1f} s] {text}", flush=True)


def _demo(fleet: Fleet, journal: Path) -> bool:
    """Whether every message arrived once."""
    page = free_port()
    server = fleet.name_server({"rocketns.adminPort": page, "journalPath": journal, "journalNs": "demo"})
    say(f"rocketns is up on 127.0.0.1:{server.port}, process {server.pid}. Its status page: http://127.0.0.1:{page}/")
    say(f"Starting a RocketMQ {CURRENT} broker that knows nothing but namesrvAddr=127.0.0.1:{server.port} …")
    broker = fleet.broker("demo-broker", server)
    topics = len(views.routes(server))
    say(f"The broker listens on {broker.address} and has registered itself with {topics} topics of its own.")

    say(f"Starting a Java consumer and a Java producer of {MESSAGES} messages; both ask rocketns where to go …")
    consumer = fleet.consumer([server], TOPIC, "demo-readers")
    producer = fleet.producer([server], TOPIC, MESSAGES, pause_ms=20)
    for count in range(SHOWN_EVERY, MESSAGES + 1, SHOWN_EVERY):
        producer.wait_for("SENT", count)
        say(f"The producer has sent {count} messages, the consumer has received {len(consumer.values('GOT'))} so far.")
    consumer.wait_for("GOT", MESSAGES)
    producer.wait_for("DONE")
    consumer.stop()
    sent, received = producer.values("SENT"), consumer.values("GOT")
    say(f"rocketns routes {TOPIC} to {views.addresses(server, TOPIC)}.")

    say(f"The doctor looks for faults: rocketns doctor 127.0.0.1:{server.port} --topic {TOPIC}")
    rocketns("doctor", f"127.0.0.1:{server.port}", "--topic", TOPIC)
    if sys.stdin.isatty():
        say("Have a look at the status page. Enter goes on.")
        sys.stdin.readline()

    say("Stopping the broker …")
    broker.ask_to_stop()
    eventually(lambda: not views.brokers(server), GONE_WITHIN_S)
    say("The broker has taken its leave: rocketns has no broker and no route any more.")
    say(f"Stopping rocketns: exit status {server.stop()}.")
    say(f"Sent: {len(sent)} messages. Received: {len(received)}.")
    complete = len(sent) == MESSAGES and Counter(sent) == Counter(received)
    say("Every message arrived exactly once." if complete else "This is not what was sent: the demo has failed.")
    return complete


def _audit(journal: Path) -> None:
    """Reads the closed journal of the name server that was stopped."""
    say(f"The audit reads its journal, which takes up to a minute: rocketns audit run --journal … --out {REPORT}")
    rocketns("audit", "run", "--journal", str(journal), "--out", str(REPORT))
    say(f"The report: {REPORT / 'report.html'}")


def rocketns(*arguments: str) -> None:
    """A command, with its output. Its exit status says what it found, which is printed."""
    subprocess.run([sys.executable, "-m", "rocketns", *arguments], check=False)


if __name__ == "__main__":
    sys.exit(main())
