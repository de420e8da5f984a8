"""Bytes that are not frames, and frames without sense: the connection is closed or answered, others are unaffected."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, frame, json_header
from tests.hostile.witness import Witness, leaves_nothing
from tests.support.histories import Ask, Peers, damaged, odd, register, steps_of

CODES = [value for name, value in vars(codes).items() if name.isupper() and value >= codes.PUT_KV_CONFIG]

VERSIONS = (0, 36, 37, 400, 401, 413, 513, 613, -1)
PEERS = Peers(
    {"10.0.0.1:10911": ("a", "b", "0")}, ["a", "c"], ["a", "b"], ["a", "b", "\u00fc\u2028"],
    forms=[(is_binary, version) for is_binary in (False, False, True) for version in VERSIONS],
)  # fmt: skip


def random_requests(*, damage: bool) -> Iterator[bytes]:
    """Frames of every request code with any fields, versions and bodies; or a few bytes are changed in each."""
    chance = random.Random(SEED)
    for number in range(FRAMES):
        (asked,) = steps_of(str(SEED), number, PEERS, {odd: 3, register: 1})
        assert isinstance(asked, Ask)
        data = (replace(asked, code=chance.choice(CODES)) if chance.random() < 0.5 else asked).frame()
        yield damaged(chance, data, first=0 if chance.random() < 0.1 else 8) if damage else data


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
    with leaves_nothing(shared_server), Witness(shared_server):
        for batch in batches(random_requests(damage=damage)):
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
