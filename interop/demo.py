"""``make demo``: rocketns, a real broker, a producer and a consumer on this machine. Each step is printed."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.classes import compiled
from interop.harness.rocketmq.java import CURRENT
from interop.harness.rocketmq.maven import cache_folder, missing_tools
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import eventually

MESSAGES = 100
PAUSE_MS = 20
SHOWN_EVERY = 25
TOPIC = "DemoTopic"
GONE_WITHIN_S = 30.0

_started_at = time.monotonic()


def main() -> int:
    """0 if every message arrived once, 1 if not or if something is missing here, 130 after Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        return _run() if _has_java() and _has_jars() else 1
    except KeyboardInterrupt:
        say("Interrupted; everything that was started has been stopped.")
        return 130
    except (AssertionError, OSError) as failure:
        say(f"The demo has failed: {failure}")
        return 1


def _run() -> int:
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Fleet(RocketnsServer, Path(folder)) as fleet,
    ):
        try:
            return _demo(fleet)
        finally:
            # A second Ctrl-C must not leave a process running.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)


def say(text: str) -> None:
    print(f"[{time.monotonic() - _started_at:5.1f} s] {text}", flush=True)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _has_java() -> bool:
    if missing := missing_tools():
        print(f"The demo runs a real RocketMQ broker, which needs a Java development kit and Maven. Not found on the "
              f"PATH: {', '.join(missing)} (Debian, Ubuntu: apt-get install default-jdk-headless maven).",
              file=sys.stderr)  # fmt: skip
    return not missing


def _has_jars() -> bool:
    say(f"Looking for RocketMQ {CURRENT} in {cache_folder()} (fetched with Maven the first time, about 100 MB).")
    try:
        compiled(CURRENT)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        print(f"Maven or javac failed, so there is no RocketMQ to run the demo with: {failure}", file=sys.stderr)
        return False
    return True


def _demo(fleet: Fleet) -> int:
    server = fleet.name_server()
    say(f"rocketns is up on 127.0.0.1:{server.port}, process {server.pid}, {_resident_mb(server.pid)} MB of memory.")
    broker = _start_broker(fleet, server)
    sent, received = _send_and_receive(fleet, server)
    route = views.addresses(server, TOPIC)
    say(f"rocketns routes {TOPIC} to {route}; it now uses {_resident_mb(server.pid)} MB.")
    _stop(broker, server)
    return _conclude(sent, received)


def _start_broker(fleet: Fleet, server: NameServer) -> Broker:
    say(f"Starting a RocketMQ {CURRENT} broker that knows nothing but namesrvAddr=127.0.0.1:{server.port} …")
    broker = fleet.unregistered("demo-broker", [server])
    views.wait_until_registered(broker, server)
    topics = len(views.routes(server))
    say(f"The broker listens on {broker.address} and has registered itself with {topics} topics of its own.")
    return broker


def _send_and_receive(fleet: Fleet, server: NameServer) -> tuple[list[str], list[str]]:
    """What the producer was told is stored, and what the consumer printed."""
    say(f"Starting a Java consumer and a Java producer of {MESSAGES} messages; both ask rocketns where to go …")
    consumer = fleet.consumer([server], TOPIC, "demo-readers")
    producer = fleet.producer([server], TOPIC, MESSAGES, pause_ms=PAUSE_MS)
    _say_progress(producer, consumer)
    producer.wait_for("DONE")
    consumer.stop()
    return producer.values("SENT"), consumer.values("GOT")


def _say_progress(producer: JavaClient, consumer: JavaClient) -> None:
    for count in range(SHOWN_EVERY, MESSAGES + 1, SHOWN_EVERY):
        producer.wait_for("SENT", count)
        say(f"The producer has sent {count} messages, the consumer has received {len(consumer.values('GOT'))} so far.")
    consumer.wait_for("GOT", MESSAGES)
    say(f"The consumer has received {len(consumer.values('GOT'))} messages.")


def _stop(broker: Broker, server: NameServer) -> None:
    say("Stopping the broker …")
    broker.ask_to_stop()
    eventually(lambda: not views.brokers(server), GONE_WITHIN_S)
    say("The broker has taken its leave: rocketns has no broker and no route any more.")
    say(f"Stopping rocketns: exit status {server.stop()}.")


def _conclude(sent: list[str], received: list[str]) -> int:
    times = Counter(Counter(received).values())
    say(f"Sent: {len(sent)} messages. Received: {len(received)}, of which {times[1]} exactly once.")
    complete = len(sent) == MESSAGES and Counter(sent) == Counter(received)
    say("Every message arrived exactly once." if complete else "This is not what was sent: the demo has failed.")
    return 0 if complete else 1


def _resident_mb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))) // 1024


if __name__ == "__main__":
    sys.exit(main())
