"""A shadow as a process."""

from __future__ import annotations

import json
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any

import psutil

from interop.harness import codes, payloads
from interop.harness.ports import free_port
from interop.harness.process import Process
from interop.harness.wire import Client, eventually

READY = r"own half, process (\d+), listens at"


class Shadow:
    """Started on construction, and ready. Brokers have a second to register at a half that starts."""

    def __init__(self, home: Path, upstream: int, *options: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.port, self.status_port = free_port(), free_port()
        self.process = Process(
            [sys.executable, "-m", "rocketns", "shadow", "--upstream", f"127.0.0.1:{upstream}", "-p", str(self.port),
             "--bind", "127.0.0.1", "--settle", "1s", "--status", f"127.0.0.1:{self.status_port}", *options],
            home / "stdout.log",
        )  # fmt: skip
        self.process.wait_for(READY)

    def counts(self) -> dict[str, Any]:
        """What the status port says."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}/api/counts") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def relay(self, name: str) -> int:
        """A number of the relay."""
        return int(self.counts()["relay"][name])

    def child(self, word: str) -> psutil.Process:
        """The process of the half, or of the judge."""
        children = psutil.Process(self.process.pid).children()
        return next(one for one in children if any(word in part for part in one.cmdline()))

    def serve(self) -> None:
        """And wait until it does."""
        self.process.signal(signal.SIGUSR1)
        eventually(lambda: self.relay("served_percent_now") == 100)

    def connect(self) -> Client:
        return Client(self.port)

    def stop(self) -> int:
        return self.process.stop()


def register(client: Client, topics: int = 3, addr: str = "127.0.0.1:10911", broker: str = "broker-a") -> None:
    """A broker with topics ``T0`` and so on."""
    body = payloads.register_body([payloads.topic_config(f"T{number}") for number in range(topics)])
    ext = payloads.register_ext(addr=addr, broker=broker, body=body)
    assert client.request(codes.REGISTER_BROKER, ext, body).code == 0


def routed(client: Client, topic: str = "T1") -> bool:
    """Whether the topic has a route."""
    return client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}).code == 0
