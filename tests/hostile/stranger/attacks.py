"""Known attacks, each a step. All load goes to one port of this machine."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from functools import reduce

from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, dumps, register_body, register_ext, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from tests.support.proxyheaders import TCP4, addresses4, tlv, v2
from tests.support.tlsclient import TlsPeer

MB = 1 << 20
# Not the address of the honest peers: a peer with the same host would wait for a turn of each hostile connection.
STRANGERS_HOST = "127.0.0.2"
ROUTE = codes.GET_ROUTEINFO_BY_TOPIC
Attack = Callable[[int], None]


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def registration(body: bytes, name: str, **more: str) -> bytes:
    ext = register_ext(cluster="Hostile", broker=name, addr="10.9.9.9:1", body=body, **more)
    return frame(json_header(codes.REGISTER_BROKER, ext), body)


def connection(port: int) -> socket.socket:
    """A socket, which is its own context manager. OSError where it is refused or too late."""
    return socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(STRANGERS_HOST, 0))


def send_and_drain(port: int, data: bytes, times: int = 1, *, wait_s: float = 0.05) -> None:
    """Send, and read until nothing comes for ``wait_s``."""
    with connection(port) as stranger:
        for _ in range(times):
            stranger.sendall(data)
        stranger.settimeout(wait_s)
        while stranger.recv(MB):
            pass


def proxied(port: int) -> None:
    """PROXY headers of 64 KiB, each from another host: many extensions, and extensions within extensions."""
    source = addresses4(f"10.9.{time.monotonic_ns() % 250}.{time.monotonic_ns() // 250 % 250}", 1)
    for extensions in EXTENSIONS:
        header = v2(TCP4, source + extensions)
        for _ in range(10):
            send_and_drain(port, header + frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)), wait_s=0.005)


def shaking_hands(port: int) -> None:
    """The beginnings of TLS handshakes, each of which costs a signature."""
    hello = TlsPeer().shake_hands()
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connection(port)).sendall(hello)


def many_fields(port: int) -> None:
    """Binary headers with a thousand fields."""
    header = binary_header(9999, {f"k{number}": "v" for number in range(1020)})
    send_and_drain(port, frame(header, b"", ROCKETMQ), 20)


def deflated_zeros(port: int) -> None:
    """135 KB that inflate to 31 MB."""
    send_and_drain(port, registration(ZEROS, "zeros", compressed="true"), 4)


def lenient_mappings(port: int) -> None:
    """A compressed registration of mappings that are not quite JSON."""
    send_and_drain(port, registration(LENIENT, "lenient", compressed="true"))


def large_header(port: int) -> None:
    """A JSON header of megabytes."""
    send_and_drain(port, frame(json_header(ROUTE, {f"key{number}": "v" for number in range(60_000)})))


def empty_topics(port: int) -> None:
    """A table of topics without content."""
    send_and_drain(port, registration(EMPTY_TOPICS, "empty"))


def registering(port: int) -> None:
    """Registers the topics that others look up, with other queues each time. At the end their broker is removed."""
    with connection(port) as stranger:
        for body in CHANGING * 10:
            stamped = body.replace(b'"timestamp":0', b'"timestamp":%d' % time.time_ns())
            stranger.sendall(registration(stamped, "changing"))
            stranger.recv(MB)


def binary_registrations(port: int) -> None:
    """Registrations of a megabyte with binary headers."""
    ext = register_ext("Hostile", "binary", "10.9.9.8:1", body=PADDED)
    send_and_drain(port, frame(binary_header(codes.REGISTER_BROKER, ext), PADDED, ROCKETMQ), 4)


def forging(port: int) -> None:
    """Names with forged log lines or terminal commands."""
    send_and_drain(port, registration(register_body([topic_config(FORGED)]), FORGED))
    send_and_drain(port, frame(json_header(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": FORGED})))


def coming_and_going(port: int) -> None:
    """Small frames, each on a connection that closes at once."""
    for _ in range(30):
        with connection(port) as stranger:
            stranger.sendall(frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)) * 100)


def never_reading(port: int) -> None:
    """Many requests with large answers, none of which is read."""
    with connection(port) as stranger:
        stranger.settimeout(0.5)
        for _ in range(50):
            stranger.sendall(frame(json_header(ROUTE, {"topic": "T0"})) * 500)
            stranger.sendall(frame(json_header(codes.GET_BROKER_CLUSTER_INFO)) * 50)


def half_frames(port: int) -> None:
    """The first megabyte of a frame of sixteen."""
    with contextlib.ExitStack() as stack:
        for _ in range(16):
            stranger = stack.enter_context(connection(port))
            stranger.settimeout(0.5)
            with contextlib.suppress(OSError):
                stranger.sendall(struct.pack(">i", 16 * MB - 8) + bytes(MB))
        time.sleep(0.2)


def storing(port: int) -> None:
    """Values of 100 KB into the KV table."""
    ext = {"namespace": "hostile", "key": str(time.monotonic_ns() % 50), "value": "v" * 100_000}
    send_and_drain(port, frame(json_header(codes.PUT_KV_CONFIG, ext)), 3)


def naming(port: int) -> None:
    """Names of a megabyte, and the longest that are taken, with 400 topics whose queues are others each time."""
    for number, size in enumerate((MB, 4_096, 4_096)):
        ext = register_ext("Hostile", "n" * size, "10.9.9.7:1", body=NAMED[number % 2], compressed="true")
        send_and_drain(port, frame(json_header(codes.REGISTER_BROKER, ext), NAMED[number % 2]))


def configuring(port: int) -> None:
    """Properties that the server should refuse to change."""
    body = b"listenPort=70000\nproductEnvName=a\\nconfigBlackList=\n"
    send_and_drain(port, frame(json_header(codes.UPDATE_NAMESRV_CONFIG), body))


def looking_up(port: int) -> None:
    """Lookups as fast as possible."""
    send_and_drain(port, frame(json_header(ROUTE, {"topic": "T0"})) * 2_000)


ZEROS = zlib.compress(block(dumps(data_version())) + bytes(31 * MB), 1)
_MAPPINGS = [block(b"{'topic':'t%d','currIdMap':{%s}}" % (n, b"0:0," * 8_000 + b"1:1")) for n in range(100)]
LENIENT = zlib.compress(
    block(dumps(data_version())) + struct.pack(">i", 0) + block(b"[]") + struct.pack(">i", 100) + b"".join(_MAPPINGS), 1
)
EMPTY_TOPICS = b'{"topicConfigSerializeWrapper":{"topicConfigTable":{%s}}}' % b",".join(
    b'"%d":{}' % number for number in range(300_000)
)
CHANGING = [register_body([topic_config(f"T{n}", read) for n in range(500)], data_version(0, 0)) for read in (4, 8)]
NAMED = [compressed_body([topic_config(f"N{n}", read) for n in range(400)], data_version(read)) for read in (4, 8)]
PADDED = register_body([topic_config(f"T{n}") | {"attributes": {"+a": "x" * 2_000}} for n in range(500)])
FORGED = "forged\n2026-01-01 00:00:00 ERROR nobody wrote this\x1b[2J"
_NESTED = reduce(lambda inner, _: tlv(0x20, bytes(5) + inner), range(120), tlv(0xEE, b"") * 21_000)
EXTENSIONS = (tlv(0xEE, b"x") * 16_000, _NESTED)
TABLE = [registration(register_body([topic_config(f"T{n}") for n in range(500)]), f"hostile-{b}") for b in range(20)]
ATTACKS: tuple[Attack, ...] = (
    proxied, shaking_hands, many_fields, deflated_zeros, lenient_mappings, large_header, empty_topics, registering,
    binary_registrations, forging, coming_and_going, never_reading, half_frames, storing, configuring, looking_up,
    naming,
)  # fmt: skip


@contextlib.contextmanager
def wide_topics(port: int) -> Iterator[None]:
    """Meanwhile 20 brokers have 500 topics each, which some attacks look up."""
    with contextlib.ExitStack() as stack:
        for request in TABLE:
            stack.enter_context(connection(port)).sendall(request)
        yield
