"""No frame, whatever its content, costs control more than some tens of milliseconds, or leaves garbage behind."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from rocketns.errors import BodyDecodeError, MalformedFrame
from rocketns.protocol import command
from rocketns.protocol.body.registration.decoding import decode_register_broker_body
from rocketns.protocol.headers import RegisterBrokerRequestHeader, decode_header
from tests.hostile.bytes import dear
from tests.hostile.watch import MB, Watch

# The aim is about 50 ms, and 150 ms for as many topics or values as the limits allow. On a busy machine the same work
# takes more CPU time, so one of several tries is enough.
DECODING_CPU_S, TRIES = 0.4, 3
GROWTH_MAX = 200 * MB
LEFT_MAX = 24 * MB
FLOOD = 144
FRAMES = [pytest.param(make, id=name) for name, make in dear.every()]


class Buffer(bytearray):
    """A frame that can be referenced weakly, so a test sees when it is freed."""


@contextmanager
def no_collection() -> Iterator[None]:
    """As in the server, the collector skips existing objects. Here it would otherwise scan all tests."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def decode(frame: memoryview) -> None:
    with suppress(MalformedFrame, BodyDecodeError):
        request = command.decode(frame)
        if request.code == codes.REGISTER_BROKER:
            header = decode_header(request, RegisterBrokerRequestHeader)
            decode_register_broker_body(request.data, compressed=header.compressed, version=request.version, now_ms=1)


@pytest.mark.parametrize("make", FRAMES)
def test_no_frame_takes_long_to_decode_or_leaves_anything_behind(make: Callable[[], bytes]) -> None:
    """Accepted or refused, a frame leaves no reference to its bytes and no cycle for the garbage collector."""
    frame = make()
    with no_collection():
        assert any(decoding_cpu_s(memoryview(frame)) < DECODING_CPU_S for _ in range(TRIES))
    buffer = Buffer(frame)
    gone = weakref.ref(buffer)
    with no_collection():  # after imports and caches of the first decoding
        decode(memoryview(buffer))
        del buffer
        assert gone() is None
        assert gc.collect() == 0


def decoding_cpu_s(frame: memoryview) -> float:
    started = time.thread_time()
    decode(frame)
    return time.thread_time() - started


def test_a_flood_of_deflated_registrations_takes_no_memory(server: NameServer) -> None:
    """144 requests of 135 KB that inflate to 31 MB each: they once took 4.5 GB, and kept it."""
    assert_little_memory(server, dear.BODIES["31 MB of zeros"]())


def test_a_flood_of_inflated_topics_takes_little_memory(server: NameServer) -> None:
    """The same with 31 MB that must be read: only the last topic is the reason to refuse it."""
    lines = [b"T 1 1 1 SINGLE_TAG ".ljust(315)] * (dear.BLOCKS_MAX - 2) + [b"T" * 20]
    assert_little_memory(server, dear.compressed(lines), count=12)


def test_a_flood_of_binary_headers_leaves_nothing(server: NameServer) -> None:
    """Header fields of 1 MB, in a binary header."""
    assert_little_memory(server, dear.binary(dear.pair(b"topic", b"x" * MB)))


def assert_little_memory(server: NameServer, frame: bytes, count: int = FLOOD) -> None:
    with server.connect() as client:
        client.send(frame)
        client.receive()
        watch = Watch(server)
        for _ in range(count):
            client.send(frame)
            client.receive()
        assert watch.peak_growth() < GROWTH_MAX
        assert watch.rss() - watch.rss_before < LEFT_MAX
