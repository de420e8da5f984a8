"""Bytes, requests and connections that should cost the name server much and the attacker little."""

from __future__ import annotations

import signal
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, binary_header, frame, json_header
from tests.behaviour.steps import TWO_TOPICS, configs, registered
from tests.behaviour.views import ask_route
from tests.hostile.attacks.attack import CLOSED, SUCCEEDS, said
from tests.hostile.attacks.policy import FLEET, OTHER_BROKER, STRANGER
from tests.hostile.attacks.scene import Scene
from tests.hostile.attacks.signed import signed
from tests.hostile.shares.test_shares import LONGEST_WAIT_CPU_S, send_what_fits
from tests.hostile.watch import MB, Watch, cpu_seconds
from tests.support.ended import is_ended

BOUNDED = "bounded"
# What an attack of this page may cost: memory, and the work for which a broker waits.
GROWTH_MAX = 64 * MB
WAIT_CPU_S_MAX = LONGEST_WAIT_CPU_S
INFLATED = 128 * MB
FLOODING, ASKED = 40, 60
# Java's threads read the connections in any order: not each of them waits for the whole flood.
REGISTERING = 8
SCANNED_BROKERS, SCANNED_TOPICS = 20, 3_000
SLOW = 1_000
OWN_ADDRESS = "10.66.66.66:10911"
WRONG_BODY = 15 * MB
WRONG_FRAMES = 8
KEYS_TRIED = 10_000


@dataclass(frozen=True)
class Load:
    """``play`` gives the cell, with a figure."""

    name: str
    does: str
    play: Callable[[Scene], str]
    is_stopped: bool | None = True


def wrong_remark_length(scene: Scene) -> str:
    """50 frames in which the remark has 2 GiB, as its length says."""
    header = bytearray(binary_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": scene.topic}))
    struct.pack_into(">i", header, 13, 0x7FFFFFF0)
    watch = Watch(scene.server)
    for _ in range(50):
        client = scene.connect(STRANGER)
        client.send(frame(bytes(header), b"", ROCKETMQ))
        if not client.is_closed_by_server():
            return SUCCEEDS
    return by_growth(CLOSED, watch.peak_growth())


def by_growth(otherwise: str, growth: int) -> str:
    if growth > GROWTH_MAX:
        return f"{SUCCEEDS} ({growth // MB} MB of memory)"
    return f"{otherwise} (less than {GROWTH_MAX // MB} MB of memory)"


@cache
def bomb() -> bytes:
    """A data version of 128 MiB of blanks: 128 KiB when it is compressed."""
    deflating = zlib.compressobj(9)
    parts = [deflating.compress(struct.pack(">i", INFLATED))]
    parts += [deflating.compress(b" " * MB) for _ in range(INFLATED // MB)]
    return b"".join([*parts, deflating.flush()])


def zip_bomb(scene: Scene) -> str:
    """From an address that may register brokers, so that the body counts."""
    watch, body = Watch(scene.server), bomb()
    ext = register_ext(scene.names.cluster, f"{scene.names.broker}-more", OWN_ADDRESS, 0, body, compressed="true")
    try:
        scene.answers.append(scene.connect(OTHER_BROKER).request(codes.REGISTER_BROKER, ext, body))
    except ConnectionError:
        return by_growth(CLOSED, watch.peak_growth())
    return by_growth(said(scene.answers), watch.peak_growth())


def flood_of_lists(scene: Scene) -> str:
    """Thousands of 224, whose answers nobody reads, while a broker registers."""
    topics = [topic_config(f"{scene.topic}-{number}") for number in range(SCANNED_TOPICS)]
    for number in range(SCANNED_BROKERS):
        name = f"{scene.names.broker}-{number}"
        registered(scene.fleet, scene.names, topics, host=number + 2, brokerName=name)
    scan = codes.GET_TOPICS_BY_CLUSTER, {"cluster": scene.names.cluster}
    clients = [scene.connect(STRANGER) for _ in range(FLOODING)]
    brokers = [scene.connect(FLEET) for _ in range(REGISTERING)]
    for broker in brokers:
        registered(broker, scene.names)
    scene.answers = [client.request(*scan) for client in clients]
    with suspended(scene.server):
        for client in clients:
            send_what_fits(client, frame(json_header(*scan)) * ASKED)
        for broker in brokers:
            post_registration(broker, scene)
    is_answered = scene.answers[-1].code == codes.SUCCESS
    return by_wait(BOUNDED if is_answered else said(scene.answers), work_until_registered(scene, brokers))


@contextmanager
def suspended(server: NameServer) -> Iterator[None]:
    """What is sent meanwhile waits for the server all at once, however busy the machine is."""
    server.process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.signal(signal.SIGCONT)


def post_registration(broker: Client, scene: Scene) -> None:
    """A broker of the fleet begins to register again."""
    names, version = scene.names, {"counter": 3, "stateVersion": 1, "timestamp": 3}
    body = register_body(configs(names, TWO_TOPICS), version)
    broker.post(codes.REGISTER_BROKER, register_ext(names.cluster, names.broker, names.addr(), 0, body), body)


def work_until_registered(scene: Scene, brokers: Iterable[Client]) -> float:
    """CPU seconds of the server until the registrations of all these connections are answered."""
    before = cpu_seconds(scene.server)
    for broker in brokers:
        assert broker.receive().code == codes.SUCCESS
    return cpu_seconds(scene.server) - before


def by_wait(otherwise: str, waited_s: float) -> str:
    if waited_s > WAIT_CPU_S_MAX:
        return f"{SUCCEEDS} (a broker waits for {waited_s:.1f} s of CPU time)"
    return f"{otherwise} (a broker waits for less than {WAIT_CPU_S_MAX:.0f} s of CPU time)"


def slow_connections(scene: Scene) -> str:
    """1,000 connections, each with the beginning of a frame of 16 MB."""
    watch = Watch(scene.server)
    begun = struct.pack(">iI", 15 * MB, 100) + b'{"code":'
    slow = [scene.connect(STRANGER) for _ in range(SLOW)]
    for client in slow:
        with suppress(ConnectionError):
            client.send(begun)
    answer = ask_route(scene.connect("127.0.0.1"), scene.topic)
    if answer.code != codes.SUCCESS or watch.peak_growth() > GROWTH_MAX:
        return f"{SUCCEEDS} ({watch.peak_growth() // MB} MB of memory)"
    if all(is_ended(client) for client in slow):
        return CLOSED
    return f"{BOUNDED} (others are answered; less than {GROWTH_MAX // MB} MB of memory)"


def wrong_signatures(scene: Scene) -> str:
    """Frames of 15 MB with a known key and a wrong signature, from four connections, while a broker registers."""
    body = bytes(WRONG_BODY)
    fields = register_ext(scene.names.cluster, scene.names.broker) | {"AccessKey": "alone", "Signature": "A" * 27 + "="}
    data = frame(json_header(codes.REGISTER_BROKER, fields), body)
    clients = [scene.connect(STRANGER) for _ in range(4)]
    with suppress(ConnectionError):
        for number in range(WRONG_FRAMES):
            clients[number % 4].send(data)
    post_registration(scene.fleet, scene)
    waited_s = work_until_registered(scene, [scene.fleet])
    with suppress(ConnectionError):
        scene.answers.append(clients[0].receive())
    return by_wait(said(scene.answers) if scene.answers else CLOSED, waited_s)


def many_keys(scene: Scene) -> str:
    """10,000 requests, each with an access key of its own, and as many lines of the log as the server writes."""
    client = scene.connect(STRANGER)
    log_before, watch = log_bytes(scene), Watch(scene.server)
    for begin in range(0, KEYS_TRIED, 500):
        client.send(b"".join(map(unknown_key, range(begin, begin + 500))))
        scene.answers = [client.receive() for _ in range(500)]
    written = log_bytes(scene) - log_before
    if watch.peak_growth() > GROWTH_MAX or written > MB:
        return f"{SUCCEEDS} ({watch.peak_growth() // MB} MB of memory, {written // MB} MB of log)"
    is_answered = scene.answers[-1].code == codes.SUCCESS
    return f"{'answered' if is_answered else said(scene.answers)} (less than 1 MB of log)"


def unknown_key(number: int) -> bytes:
    key = f"guess-{number:05}"
    return frame(json_header(codes.GET_BROKER_CLUSTER_INFO, signed(key, secret="guessed")))


def log_bytes(scene: Scene) -> int:
    return len(scene.server.process.text())


ROWS = (
    Load("Issue 3474: wrong length of the remark", "50 binary headers whose remark has 2 GiB", wrong_remark_length),
    Load(
        "A zip bomb", "103 with 128 KiB that inflate to 128 MiB, from an address that may register brokers", zip_bomb,
    ),
    Load(
        "A flood of 224", f"{FLOODING} connections, {ASKED} times 224 on each, for a cluster of {SCANNED_BROKERS} "
        f"brokers and {SCANNED_TOPICS:,} topics, while a broker registers", flood_of_lists,
    ),
    Load("Slow connections", f"{SLOW:,} connections, each with the beginning of a frame", slow_connections),
    Load(
        "Wrong signatures of large bodies",
        f"103 of 15 MB with a known key, {WRONG_FRAMES} times, while a broker registers", wrong_signatures,
    ),
    Load(f"{KEYS_TRIED:,} unknown keys", "106 with a key of its own each", many_keys),
)  # fmt: skip
