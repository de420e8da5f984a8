"""``python -m benchmarks.collect.canned``: what `rocketns collect` costs beside three name servers of a large fleet.

The name servers are one process with answers that are made once: of 300 brokers, and of 10,000 topics that each broker
has. So all CPU time that is measured is the collector's. Printed are its CPU time and memory while everything is read
the first time, and in the rounds after that, in which nothing changes; and the most requests in a second.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from interop.harness import codes
from interop.harness.process import Process
from interop.harness.wire import frame, json_header

SERVERS = 3
POLL_S = 0.5
QUEUES = {"perm": 6, "readQueueNums": 4, "topicSysFlag": 0, "writeQueueNums": 4}


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--requests-per-second", type=int, default=50)
    parser.add_argument("--steady", type=float, default=60.0, help="seconds in which nothing changes")
    options = parser.parse_args()
    near, far = multiprocessing.Pipe()
    servers = multiprocessing.Process(target=_serve, args=(options.brokers, options.topics, far), daemon=True)
    servers.start()
    try:
        _measure(options, near, near.recv())
    finally:
        servers.terminate()


def _measure(options: argparse.Namespace, servers: Connection, ports: list[int]) -> None:
    with tempfile.TemporaryDirectory() as home:
        names = ",".join(f"127.0.0.1:{port}" for port in ports)
        command = [sys.executable, "-m", "rocketns", "collect", "--name-servers", names, "--journal", f"{home}/journal"]
        command += ["--requests-per-second", str(options.requests_per_second)]
        collecting = Process(command, Path(home) / "log")
        watched = psutil.Process(collecting.pid)
        try:
            _say("reading", watched, servers, lambda: collecting.text().count("is watched") < SERVERS)
            ends_s = time.monotonic() + options.steady
            _say("watching", watched, servers, lambda: time.monotonic() < ends_s)
        finally:
            collecting.kill()


def _say(what: str, watched: psutil.Process, servers: Connection, goes_on: Callable[[], bool]) -> None:
    """CPU time and memory while something goes on."""
    began_s, spent_s, peak, (before, _) = time.monotonic(), _cpu_s(watched), 0, _asked(servers)
    while goes_on():
        time.sleep(POLL_S)
        peak = max(peak, watched.memory_info().rss)
    took_s, spent_s, (asked, most) = time.monotonic() - began_s, _cpu_s(watched) - spent_s, _asked(servers)
    cost = f"{1000 * spent_s / max(1, asked - before):.2f} ms of CPU time a request, {spent_s / took_s:.3f} s a second"
    print(f"{what}: {took_s:.0f} s, {asked - before} requests, at most {most} in a second at one name server; "
          f"{cost}; at most {peak / 1e6:.0f} MB", flush=True)  # fmt: skip


def _cpu_s(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


def _asked(servers: Connection) -> tuple[int, int]:
    """All requests so far, and the most in a second at one name server."""
    servers.send("how many?")
    found: tuple[int, int] = servers.recv()
    return found


def _serve(brokers: int, topics: int, pipe: Connection) -> None:
    """Three name servers, for ever. Sends their ports, and at each question what `_asked` returns."""
    answers = _answers(brokers, topics)
    counts: list[Counter[int]] = [Counter() for _ in range(SERVERS)]

    async def serving() -> None:
        ports = []
        for count in counts:
            server = await asyncio.start_server(_server(answers, count), "127.0.0.1", 0)
            ports.append(server.sockets[0].getsockname()[1])
        pipe.send(ports)
        while await asyncio.to_thread(pipe.recv):
            most = max(max(count.values(), default=0) for count in counts)
            pipe.send((sum(count.total() for count in counts), most))

    asyncio.run(serving())


def _answers(brokers: int, topics: int) -> dict[int, bytes]:
    """The bodies by request code. All topics have the same route."""
    names = [f"broker-{number}" for number in range(brokers)]
    groups = {name: {"brokerAddrs": {"0": f"10.0.{at >> 8}.{at & 255}:10911"}, "brokerName": name, "cluster": "c",
                     "enableActingMaster": False} for at, name in enumerate(names)}  # fmt: skip
    route = {"brokerDatas": list(groups.values()), "filterServerTable": {},
             "queueDatas": [{"brokerName": name} | QUEUES for name in names]}  # fmt: skip
    listed = {"topicList": [f"a-topic-of-this-fleet-{number}" for number in range(topics)]}
    bodies = {codes.GET_BROKER_CLUSTER_INFO: {"brokerAddrTable": groups, "clusterAddrTable": {"c": names}},
              codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: listed, codes.GET_ROUTEINFO_BY_TOPIC: route}  # fmt: skip
    made = {code: json.dumps(body, separators=(",", ":")).encode() for code, body in bodies.items()}
    return made | {codes.GET_NAMESRV_CONFIG: b"listenPort=9876"}


def _server(answers: dict[int, bytes], count: Counter[int]) -> Callable[..., object]:
    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):  # the collector was killed
            await serve(reader, writer)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while size := await reader.read(4):
            data = await reader.readexactly(int.from_bytes(size))
            header = json.loads(data[4 : 4 + int.from_bytes(data[1:4])])
            count[int(time.monotonic())] += 1
            body = answers.get(header["code"])
            writer.write(frame(json_header(0 if body else 22, opaque=header["opaque"], flag=1), body or b""))
            await writer.drain()

    return quietly


if __name__ == "__main__":
    main()
