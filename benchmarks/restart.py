"""How long a restart takes that restores its routes: from exec to the first route, CPU time, and memory.

``python -m benchmarks.restart --brokers 300 --topics 10000``. Every broker has every topic. The server is killed or
stopped, and started again with its journal. Memory is compared with that of the process where the brokers registered.
With ``--refused`` the brokers have died meanwhile: how long after the first answer the last one is out of the routes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.loading.registrations import broker_host, broker_name, plain_body, registration, topic
from benchmarks.servers.process import cpu_s, resident_mb, settle
from interop.harness import codes
from interop.harness.payloads import data_version, dumps
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client

LOOKUP = {"topic": topic(0), "acceptStandardJsonOnly": "true"}
TRY_EVERY_S = 0.002
WITHIN_S = 120
LOOPBACK = 127  # the network of addresses where nobody listens


class Start(NamedTuple):
    """From exec until the route was answered; ``mb`` is resident memory when it had settled."""

    wall_s: float
    cpu_s: float
    mb: float


def register(client: Client, brokers: Collection[int], topics: int, heartbeats: int, network: int = 10) -> None:
    """These brokers, then ``heartbeats`` of each: 322, which brokers with acting masters send once a second."""
    body, version = plain_body(range(topics), 1), dumps(data_version(1, 1_700_000_000_001))
    for number in brokers:
        client.send(registration(broker_name(number), broker_host(number, network), body))
        assert client.receive().code == 0
    for _ in range(heartbeats):
        for number in brokers:
            ext = {"clusterName": "DefaultCluster", "brokerName": broker_name(number),
                   "brokerAddr": f"{broker_host(number, network)}:10911", "brokerId": 0}  # fmt: skip
            client.post(codes.QUERY_DATA_VERSION, ext, version)
        for _ in brokers:
            assert client.receive().code == 0


def started(server: RocketnsServer, brokers: int) -> Start:
    """Start it, and ask every 2 ms for a route until it has all brokers."""
    began = time.monotonic()
    server.start()
    while True:
        with Client(server.port, timeout_s=WITHIN_S) as client:
            answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, LOOKUP)
        if answer.code == 0 and answer.body.count(b'"brokerAddrs"') == brokers:
            break
        assert answer.code == codes.SYSTEM_ERROR, answer
        assert time.monotonic() - began < WITHIN_S
        time.sleep(TRY_EVERY_S)
    wall, cpu = time.monotonic() - began, cpu_s(server.pid)
    for _ in range(3):
        settle(server.pid)
    return Start(wall, cpu, resident_mb(server.pid))


def gone_s(server: RocketnsServer) -> float:
    """Start it, and ask until the topic has no broker. From its first answer on, in seconds."""
    server.start()
    with Client(server.port, timeout_s=WITHIN_S) as client:
        client.request(codes.GET_ROUTEINFO_BY_TOPIC, LOOKUP)
        answered = time.monotonic()
        while client.request(codes.GET_ROUTEINFO_BY_TOPIC, LOOKUP).code != codes.TOPIC_NOT_EXIST:
            assert time.monotonic() - answered < WITHIN_S
            time.sleep(TRY_EVERY_S)
    return time.monotonic() - answered


def main(words: Sequence[str]) -> int:
    """Print a line for each start."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restart", description=__doc__)
    parser.add_argument("--brokers", type=int, default=10)
    parser.add_argument("--topics", type=int, default=1000, help="of each broker (1000)")
    parser.add_argument("--heartbeats", type=int, default=0, help="of each broker, recorded after its topics (0)")
    parser.add_argument("--starts", type=int, default=3, help="after a kill, and as many after a stop (3)")
    parser.add_argument("--refused", action="store_true", help="the brokers' addresses refuse connections by then")
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        if given.refused:
            measure_refused(Path(folder), given.brokers, given.topics, given.starts)
            return 0
        measure(Path(folder), given.brokers, given.topics, given.heartbeats, given.starts)
    return 0


def measure(folder: Path, brokers: int, topics: int, heartbeats: int, starts: int) -> None:
    port_and_limits = {
        "journalPath": folder / "j", "journalNs": "n1", "rocketns.askUnconfirmed": "false",
        "rocketns.confirmSeconds": 3600, "journalBufferBytes": 1 << 28,
    }  # fmt: skip
    server = RocketnsServer(folder / "ns", port_and_limits)
    try:
        brokers_side = Client(server.port, timeout_s=WITHIN_S)  # stays open: a broker leaves with its connection
        register(brokers_side, range(brokers), topics, heartbeats)
        for _ in range(3):
            settle(server.pid)
        time.sleep(1.5)  # the last records are written
        before = resident_mb(server.pid)
        written = sum(one.stat().st_size for one in (folder / "j").rglob("*") if one.is_file()) / 1e6
        print(f"{brokers} brokers x {topics} topics registered: {before:.1f} MB, {written:.1f} MB of journal")
        for end in ["kill", "stop"]:
            for _ in range(starts):
                getattr(server, end)()
                one = started(server, brokers)
                more = one.mb / before - 1
                print(f"after a {end}: {one.wall_s:.2f} s from exec to the route, {one.cpu_s:.2f} s CPU, "
                      f"{one.mb:.1f} MB ({more:+.0%})", flush=True)  # fmt: skip
    finally:
        server.kill()


def measure_refused(folder: Path, brokers: int, topics: int, starts: int) -> None:
    for number in range(starts):
        at = folder / str(number)
        server = RocketnsServer(at / "ns", {"journalPath": at / "j", "journalNs": "n1"})
        try:
            with ExitStack() as stack:
                for number in range(brokers):  # each from its own address, at which it is asked later
                    source = broker_host(number, LOOPBACK)
                    one = stack.enter_context(Client(server.port, timeout_s=WITHIN_S, source=source))
                    register(one, [number], topics, 0, LOOPBACK)
                server.kill()
            print(f"{brokers} brokers that died: gone {gone_s(server):.3f} s after the first answer", flush=True)
        finally:
            server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
