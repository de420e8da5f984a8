"""Control's time is shared by cost: a peer that sends expensive or many requests delays only itself.

The waits of others are measured in CPU seconds of the server, which a busy machine does not change.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from interop.harness import codes
from interop.harness.payloads import topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, binary_header, eventually, frame, json_header
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.hostile.watch import BUSY_MACHINE_STOP_S, cpu_seconds

LONGEST_WAIT_CPU_S = 1.0
STOP_CPU_S = 3.0
BEGUN_CPU_S = 0.1
LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
# Milliseconds each: 1,020 fields in a header of 7 KB, and JSON that only the lenient parser reads.
MANY_FIELDS = frame(binary_header(LIST, {f"k{n}": "" for n in range(1_020)}), b"", ROCKETMQ)
LENIENT = frame(json_header(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}), b"{'a':[" + b"1," * 20_000 + b"1]}")
# A small request whose answer names all topics.
SMALL = frame(json_header(LIST))
TOPICS = 3_000


def send_what_fits(peer: Client, data: bytes) -> None:
    """Send as much as the sockets accept at once."""
    peer.socket.setblocking(False)
    try:
        while data:
            data = data[peer.socket.send(data) :]
    except BlockingIOError:
        return


@contextmanager
def flood(server: NameServer, requests: bytes, peers: int, *, they_leave: bool = False) -> Iterator[None]:
    """Seconds of work for control, which it has begun. Nobody reads the answers."""
    started = cpu_seconds(server)
    with ExitStack() as stack:
        for _ in range(peers):
            peer = stack.enter_context(server.connect())
            send_what_fits(peer, requests)
            if they_leave:
                peer.close()
        eventually(lambda: cpu_seconds(server) > started + BEGUN_CPU_S)
        yield


@contextmanager
def flood_of_the_gone(server: NameServer) -> Iterator[None]:
    """Peers that ask for thousands of long answers and leave."""
    with server.connect() as broker:
        names = Names()
        registered(broker, names, [topic_config(f"{names.topic()}-{n}") for n in range(TOPICS)])
        with flood(server, SMALL * 100, 300, they_leave=True):
            yield


Flood = Callable[[NameServer], AbstractContextManager[None]]
FLOODS: dict[str, Flood] = {
    "many fields": lambda server: flood(server, MANY_FIELDS * 50, 40),
    "lenient JSON": lambda server: flood(server, LENIENT * 50, 40),
    "peers that left": flood_of_the_gone,
}
each_flood = pytest.mark.parametrize("flooded", FLOODS.values(), ids=FLOODS)


def work_until_registered(server: NameServer, connect: type[Client] = Client) -> float:
    """CPU seconds of the server from a broker's connection to the answer to its registration."""
    before = cpu_seconds(server)
    with connect(server.port, timeout_s=120) as broker:
        registered(broker, Names())
        waited = cpu_seconds(server) - before
    print(f"registered after {waited:.2f} s of work")
    return waited


@each_flood
def test_a_broker_registers_while_others_flood(server: NameServer, flooded: Flood) -> None:
    """The broker's registration waits for less than a second of the server's work."""
    with flooded(server):
        waited = work_until_registered(server)
    assert waited < LONGEST_WAIT_CPU_S


@each_flood
def test_sigterm_stops_while_others_flood(server: NameServer, flooded: Flood) -> None:
    """The server ends after less than three seconds of work."""
    with flooded(server):
        before, used = cpu_of_ended_children(), cpu_seconds(server)
        server.process.signal(signal.SIGTERM)
        assert server.process.wait(BUSY_MACHINE_STOP_S) == 0
    worked = cpu_of_ended_children() - before - used
    print(f"stopped after {worked:.2f} s of work")
    assert worked < STOP_CPU_S


def cpu_of_ended_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
