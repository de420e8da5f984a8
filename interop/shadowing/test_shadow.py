"""`rocketns shadow` in front of a Java name server, before a real broker, clients and mqadmin."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from interop.harness import codes, views
from interop.harness.ports import free_port
from interop.harness.process import Process
from interop.harness.sending.clients import assert_each_arrives_once, stop_and_check
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually

STEADY, BROKER = "Steady", "broker-a"
MESSAGES, MESSAGES_BETWEEN = 150, 100
UNWANTED = ("different", "missing", "skipped")
ANSWER_WITHIN_S = 60.0
# Against hangs: a difference is asked again after a second, a broker registers every 10 s.
WITHIN_S = 240.0
# What differs before the brokers have registered is counted as warming.
SETTLE_S = 25
# Frames of clients that ask nothing have no outcome.
UNJUDGED_MAX = 5


class Shadow(NameServer):
    """Started on construction, in front of a name server of this machine. Clients and brokers use it like one."""

    kind = "shadow"

    def __init__(self, home: Path, upstream: NameServer) -> None:
        self.home, self.upstream, self.supervisor = home, upstream, None
        self.port, self.status_port = free_port(), free_port()
        self.start()

    def start(self) -> None:
        self.process = Process(self.command(), self.home / "stdout.log", cwd=self.home)
        try:
            eventually(lambda: self.is_ready() and self.half, WITHIN_S)
        except BaseException:
            self.process.kill()
            raise

    def command(self) -> list[str]:
        places = ("--upstream", f"127.0.0.1:{self.upstream.port}", "-p", str(self.port))
        status = ("--status", f"127.0.0.1:{self.status_port}", "--settle", f"{SETTLE_S}s")
        return [sys.executable, "-m", "rocketns", "shadow", *places, *status]

    def is_ready(self) -> bool:
        """Whether it answers; it must not have ended."""
        assert self.process.popen.poll() is None, self.process.text()[-4000:]
        try:
            self.status()
            self.connect().close()
        except OSError:
            return False
        return True

    def status(self) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.status_port}/api/counts"
        with urllib.request.urlopen(url, timeout=ANSWER_WITHIN_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def judged(self) -> tuple[int, Counter[str]]:
        """How many requests have no outcome yet, and how many pairs had which outcome so far."""
        status = self.status()
        outcomes = sum(map(Counter, status["requests"].values()), Counter(skipped=status["skipped"]))
        relay = status["relay"]
        return int(relay["requests"] - relay["oneway"] - relay["alone"] - outcomes.total()), outcomes

    @property
    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    @property
    def half(self) -> psutil.Process | None:
        """The rocketns whose answers are compared; None while there is none."""
        return next((one for one in self.children if _listening(one)), None)

    @property
    def judge(self) -> psutil.Process | None:
        half = self.half
        return next((one for one in self.children if half is not None and one.pid != half.pid), None)

    def wiped_in_half(self, code: int) -> None:
        """Wipe the write permission of a broker, or add it, past the relay: the upstream does not know."""
        assert self.half is not None
        with Client(_listening(self.half)[0]) as half:
            assert half.request(code, {"brokerName": BROKER}).code == codes.SUCCESS


def _listening(process: psutil.Process) -> list[int]:
    """The ports that a process listens on."""
    try:
        connections = process.net_connections("tcp")
    except psutil.Error:
        return []
    return [int(c.laddr.port) for c in connections if c.status == psutil.CONN_LISTEN]


@dataclass
class Scene:
    """The running processes. ``seen``: the outcomes that tests have looked at already."""

    fleet: Fleet
    shadow: Shadow
    seen: Counter[str] = field(default_factory=Counter)

    def new_outcomes(self) -> Counter[str]:
        """What was compared since the last call, when all of it is judged, a question of the test's own included."""
        before = self.shadow.judged()[1].total()
        views.brokers(self.shadow)

        def is_judged() -> bool:
            unjudged, outcomes = self.shadow.judged()
            return outcomes.total() > before and unjudged <= UNJUDGED_MAX

        eventually(is_judged, WITHIN_S, every_s=0.2)
        outcomes = self.shadow.judged()[1]
        new, self.seen = outcomes - self.seen, outcomes
        return new


@pytest.fixture
def scene(fleet: Fleet) -> Scene:
    """A Java name server, the shadow in front of it, and a broker. Its half runs."""
    shadow = fleet.kills(Shadow(fleet.folder("shadow"), fleet.java()))
    fleet.broker(BROKER, shadow, topics=[STEADY])
    eventually(lambda: shadow.status()["half"] == "runs", WITHIN_S, every_s=0.2)
    return Scene(fleet, shadow)


def test_real_clients_see_no_difference_and_a_planted_one_is_found_until_it_is_taken_back(scene: Scene) -> None:
    """A permission that was wiped in the half alone is what a fault of rocketns would look like."""
    fleet, shadow = scene.fleet, scene.shadow
    scene.new_outcomes()
    producer = fleet.producer([shadow], STEADY, MESSAGES)
    assert_each_arrives_once(producer, fleet.consumer([shadow], STEADY, "readers"), MESSAGES)
    fleet.admin(shadow).run("updateKvConfig", "-s", "interop", "-k", "colour", "-v", "green").prints("success")
    found = scene.new_outcomes()
    assert found.total(), "nothing was compared"
    assert {name: found[name] for name in UNWANTED if found[name]} == {}, shadow.status()

    def differs() -> bool:
        assert views.perms(shadow, STEADY)[BROKER] == 6, "clients get the upstream's answer"
        return scene.new_outcomes()["different"] > 0

    shadow.wiped_in_half(codes.WIPE_WRITE_PERM_OF_BROKER)
    eventually(differs, WITHIN_S)
    shadow.wiped_in_half(codes.ADD_WRITE_PERM_OF_BROKER)
    eventually(lambda: not differs(), WITHIN_S)


def test_killed_parts_disturb_no_client_and_come_back(scene: Scene) -> None:
    """The half, the judge, and last the relay, with which all three end: clients connect again to the next one."""
    shadow = scene.shadow
    producer = scene.fleet.producer([shadow], STEADY, 1_000_000, pause_ms=20)
    consumer = scene.fleet.consumer([shadow], STEADY, "readers-of-killed")
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    for which in ("half", "judge"):
        killed = eventually(lambda which=which: getattr(shadow, which), WITHIN_S)
        killed.kill()
        assert len(views.perms(shadow, STEADY)) == 1
        eventually(lambda w=which, k=killed: (now := getattr(shadow, w)) and now.pid != k.pid, WITHIN_S, every_s=0.2)
        consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    children = shadow.children
    shadow.kill()
    eventually(lambda: not any(child.is_running() for child in children), WITHIN_S)
    shadow.start()
    eventually(lambda: len(views.brokers(shadow)) == 1, WITHIN_S)
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    stop_and_check(producer, consumer)
