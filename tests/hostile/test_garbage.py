"""Bytes that are not frames, and frames without sense: the connection is closed or answered, others are unaffected."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import socket
import struct
import zlib
from collections.abc import Iterable, Iterator

import pytest

from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, dumps, register_body, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, binary_header, frame, json_header
from tests.hostile.witness import Witness, leaves_nothing

CODES = [value for name, value in vars(codes).items() if name.isupper() and value >= codes.PUT_KV_CONFIG]

FIELDS = (
    "brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId", "heartbeatTimeoutMillis",
    "enableActingMaster", "compressed", "bodyCrc32", "topic", "namespace", "key", "value", "cluster",
    "acceptStandardJsonOnly", "__ZONE_NAME", "__ZONE_MODE",
)  # fmt: skip

VALUES = ("a", "b", "0", "1", "-1", "true", "", "10.0.0.1:10911", "9" * 25, "\u00fc\u2028", "x" * 300)
VERSIONS = (0, 36, 37, 400, 401, 413, 513, 613, -1)
TOPICS = [topic_config(f"T{n}") for n in range(3)]

BODIES = (
    b"",
    b"a=b\nserverWorkerThreads=7\n",
    register_body(TOPICS),
    compressed_body(TOPICS),
    dumps(data_version()),
    dumps({"queueDatas": [{"brokerName": "a", "perm": 6}]}),
)


def random_frames(seed: int, count: int) -> Iterator[bytes]:
    """Whole frames of every request code with random fields and versions and damaged bodies."""
    chance = random.Random(seed)
    for _ in range(count):
        ext = {field: chance.choice(VALUES) for field in FIELDS if chance.random() < 0.6}
        code, version, opaque = chance.choice(CODES), chance.choice(VERSIONS), chance.randrange(-5, 5)
        body = _body(chance)
        if chance.random() < 0.3:
            yield frame(binary_header(code, ext, opaque=opaque, version=version), body, ROCKETMQ)
        else:
            header = {"code": code, "extFields": ext, "opaque": opaque, "version": version}
            yield frame(json.dumps(header).encode(), body)


def damaged(seed: int, frames: Iterator[bytes]) -> Iterator[bytes]:
    """The frames with a few bytes changed, most of them after the length field."""
    chance = random.Random(seed)
    for data in frames:
        yield _damage(chance, data, first=0 if chance.random() < 0.1 else 8)


def _body(chance: random.Random) -> bytes:
    body = chance.choice(BODIES)
    kind = chance.randrange(4)
    if kind == 0 and body:
        return _damage(chance, body)
    if kind == 1:
        return zlib.compress(_damage(chance, zlib.decompress(BODIES[3])))
    return body


def _damage(chance: random.Random, data: bytes, first: int = 0) -> bytes:
    damaged_data = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        damaged_data[chance.randrange(first, len(data))] = chance.randrange(256)
    return bytes(damaged_data)


SEED = 20_260_417
CONNECTIONS = 500
FRAMES = 750
FRAMES_A_CONNECTION = 25
FRAME_MAX = 16 * 1024 * 1024
HEADER = json_header(codes.GET_KV_CONFIG, {"namespace": "none", "key": "none"}, opaque=1)


def throw(server: NameServer, data: bytes, *, reset: bool = False) -> None:
    """Send on a new connection and close it without reading answers."""
    with Client(server.port) as client:
        if reset:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(ConnectionError):  # when the server had seen enough
            client.send(data)


def noise(chance: random.Random) -> bytes:
    """Random bytes, half of them with a correct length field."""
    data = chance.randbytes(chance.randrange(1, 400))
    return data if chance.random() < 0.5 else struct.pack(">i", len(data)) + data


def test_random_bytes(shared_server: NameServer) -> None:
    """B004, B043, B044, B045, B046, B052: for any input, others are served and nothing is left behind."""
    chance = random.Random(SEED)
    with leaves_nothing(shared_server), Witness(shared_server):
        for n in range(CONNECTIONS):
            throw(shared_server, noise(chance), reset=n % 3 == 0)


@pytest.mark.parametrize("damage", [False, True], ids=["whole", "damaged"])
def test_random_requests(shared_server: NameServer, damage: bool) -> None:
    """B079: every request code with random fields and damaged bodies: an answer or a close, and no unexpected error."""
    frames = random_frames(SEED, FRAMES)
    if damage:
        frames = damaged(SEED, frames)
    with leaves_nothing(shared_server), Witness(shared_server):
        for batch in batches(frames):
            with Client(shared_server.port) as client:
                send_and_drain(client, batch)


def batches(frames: Iterable[bytes]) -> Iterable[bytes]:
    """Several frames in one piece."""
    waiting = iter(frames)
    while several := list(itertools.islice(waiting, FRAMES_A_CONNECTION)):
        yield b"".join(several)


def send_and_drain(client: Client, data: bytes) -> None:
    """Send, shut down the sending side, and read until the server closes, which it must do soon."""
    with contextlib.suppress(ConnectionError):
        client.send(data)
        client.socket.shutdown(socket.SHUT_WR)
        while client.socket.recv(65_536):
            pass


LENGTHS = [-(2**31), -1, 0, 3, FRAME_MAX - 3, FRAME_MAX, 2**31 - 1]
WORDS = [0, 1, 0xFF_FFFF, 0x0100_0000, 0x01FF_FFFF, 0x0200_0010, 0x7F00_0010, 0xFFFF_FFFF]
FIXED = struct.pack(">hBhii", codes.GET_KV_CONFIG, 0, 513, 1, 0)


def hostile_headers(huge: int) -> Iterator[bytes]:
    """Lengths of remark, ext fields, keys and values beyond their section, or below 0."""
    yield FIXED + struct.pack(">i", huge) + bytes(8)
    yield FIXED + struct.pack(">ii", 0, huge) + bytes(8)
    yield FIXED + struct.pack(">iih", 0, 12, max(-(2**15), min(huge, 2**15 - 1))) + bytes(10)
    yield FIXED + struct.pack(">iihc", 0, 12, 1, b"k") + struct.pack(">i", huge) + bytes(5)


def test_hostile_lengths(shared_server: NameServer) -> None:
    """B004, B027, B029, B031, B043 to B047: closed without waiting for the announced bytes or reserving memory."""
    garbage = [struct.pack(">i", length) + b"x" * 8 for length in LENGTHS]
    garbage += [struct.pack(">iI", 24, word) + b"\xff" * 20 for word in WORDS]
    with leaves_nothing(shared_server), Witness(shared_server):
        for data in garbage * 5:
            with Client(shared_server.port) as client:  # a whole frame is answered, and what follows closes
                client.send(frame(HEADER))
                assert client.receive().code == codes.QUERY_NOT_FOUND
                client.send(data)
                assert client.is_closed_by_server()
        for huge in (2**31 - 1, -(2**31), -1, 2**24, 255):
            for header in hostile_headers(huge):
                with Client(shared_server.port) as client:
                    send_and_drain(client, frame(header, b"", ROCKETMQ))


PREFACES = {"tls": b"\x16\x03\x01\x00\xf0\x01", "proxy v1": b"PROXY TCP4 ", "proxy v2": b"\r\n\r\n\0\r\nQUIT\n\x21\x11"}


@pytest.mark.parametrize("preface", PREFACES)
def test_garbage_behind_a_preface(shared_server: NameServer, preface: str) -> None:
    """B056: bytes that begin like TLS or a PROXY header and are neither: the connection ends, now or with its peer."""
    chance = random.Random(SEED)
    with leaves_nothing(shared_server), Witness(shared_server):
        for _ in range(150):
            throw(shared_server, PREFACES[preface] + chance.randbytes(chance.randrange(1, 400)))
        with Client(shared_server.port) as client, contextlib.suppress(ConnectionError):
            client.send(PREFACES[preface] + b"\r\n" * 4_000)
            while client.socket.recv(65_536):  # TLS sends an alert, then the end
                pass
