"""Frames of every length, in pieces, cut, and bytes that are not a frame (B042-B053, B062)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from interop.harness.payloads import dumps
from interop.harness.wire import frame, json_header
from interop.parity.language import (
    BOTH_ENCODINGS,
    EVERY_FORM,
    NAME,
    ONE_FORM,
    Ask,
    Closed,
    Differs,
    Dribble,
    Form,
    HangUp,
    Quiet,
    Request,
    Scenario,
    Send,
    Step,
    Together,
    Until,
    Waits,
)
from interop.parity.phrases import cluster_info, get, kv_list, put, register, registration, route, route_of

LARGEST = 16_777_212
KV_VALUE = "v" * 60_000


def _largest(extra: int) -> bytes:
    """A frame of the largest legal length and some more, most of it a body that nobody needs."""
    header = json_header(106, opaque=5)
    return frame(header, b"x" * (LARGEST + extra - 4 - len(header)))


# Bytes that make the server close, after a frame that it has answered and as the first bytes of a connection.
CLOSING = (
    ("length-beyond-limit", "B043", struct.pack(">i", LARGEST + 1) + b"\0" * 8),
    ("length-largest-int", "B043", struct.pack(">i", 2**31 - 1) + b"\0" * 8),
    ("length-negative", "B044", struct.pack(">i", -1) + b"\0" * 8),
    ("length-lowest", "B044", struct.pack(">i", -(2**31)) + b"\0" * 8),
    *((f"length-{length}", "B045", struct.pack(">i", length) + b"\0" * 12) for length in range(4)),
    ("header-beyond-frame", "B046", struct.pack(">ii", 20, 17) + b"{" * 16),
    ("header-far-beyond-frame", "B046", struct.pack(">ii", 20, 0xFFFFFF) + b"{" * 16),
    ("header-of-nothing", "B047", struct.pack(">ii", 12, 0) + b"{" * 8),
    ("header-of-nothing-binary", "B047", struct.pack(">iI", 12, 1 << 24) + b"{" * 8),
    ("frame-of-nothing", "B047", struct.pack(">ii", 4, 0) + b"\0" * 8),
    ("http-get", "B052", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("http-post", "B052", b"POST /x HTTP/1.1\r\nContent-Length: 0\r\n\r\n"),
    ("zeros", "B045", b"\0" * 64),
    ("ones", "B044", b"\xff" * 64),
)


def _closing() -> Iterator[Scenario]:
    for name, rows, data in CLOSING:
        steps = (Ask(data), cluster_info(on="later"), Ask(data, on="later"))
        yield Scenario(f"frame-{name}", rows, steps, forms=ONE_FORM)
    closes_its_broker: tuple[Step, ...] = (
        register(on="broker"),
        Ask(b"GET / HTTP/1.1\r\n\r\n", on="broker"),
        Until(route_of(), code=17),
    )
    yield Scenario("malformed-frame-unregisters-its-broker", "B052 B187", closes_its_broker)


def _pieces() -> Iterator[Scenario]:
    asked = Request(105, {"topic": "T" + NAME})
    for size in (1, 3, 13):
        yield Scenario(f"pieces-of-{size}", "B048", (Dribble(asked, size), Dribble(asked, size)))
    yield Scenario("registration-in-pieces", "B048 B109", (Dribble(registration(), 100), route(), route("U")))
    long = Request(105, {"topic": "T" + NAME, "more": "x" * 5000})
    yield Scenario("long-header", "B001 B048", (Ask(long), Dribble(long, 1000)), forms=BOTH_ENCODINGS)
    whole = frame(json_header(106, opaque=3))
    for cut in (5, 12, len(whole) - 1):
        steps: tuple[Step, ...] = (
            cluster_info(),
            Send(whole[:cut]),
            Waits(),
            Ask(whole[cut:]),
            Send(whole[:cut]),
            HangUp(half=True),
            Closed(),
        )
        yield Scenario(f"cut-at-{cut}", "B049 B050", steps, forms=ONE_FORM)
    yield Scenario(
        "nothing-then-the-end", "B050", (Send(b""), HangUp(half=True), Closed(), cluster_info(on="other")),
        forms=ONE_FORM,
    )  # fmt: skip


def _sizes() -> Iterator[Scenario]:
    tiny = frame(b"{}")
    assert len(tiny) < 12
    yield Scenario("whole-frame-of-ten-bytes", "B051", (Send(tiny), Waits(), Ask(tiny)), forms=ONE_FORM)
    yield Scenario("ten-bytes-later", "B051", (cluster_info(), Ask(tiny)), forms=ONE_FORM)
    yield Scenario("largest-frame", "B042", (Ask(_largest(0)), Ask(_largest(0))), forms=ONE_FORM)
    yield Scenario("one-byte-too-large", "B043", (Ask(_largest(1)[:64]),), forms=ONE_FORM)
    many = tuple(Request(101, {"namespace": "n" + NAME, "key": "k"}) for _ in range(150))
    steps = (put(value=KV_VALUE, form=Form(False, 513)), kv_list(), Together(many, kinds_only=True), Quiet())
    yield Scenario("more-answers-than-buffers-hold", "B062", steps, forms=ONE_FORM)
    body = dumps({"queueDatas": [], "x": "y" * 300_000})
    ignored = (Ask(Request(106, None, body)), Ask(Request(105, {"topic": "T" + NAME}, body)), get())
    yield Scenario("large-body-that-nobody-needs", "B001 B086", ignored, forms=EVERY_FORM)


def _narrow() -> Iterator[Scenario]:
    """com.rocketmq.remoting.frameMaxLength=65536, and queues of one."""
    header = json_header(106, opaque=5)
    for extra in (-1, 0, 1, 100):
        data = frame(header, b"x" * (65_536 + extra - 8 - len(header)))
        yield Scenario(f"frame-limit-{65_536 + extra}", "B053", (Ask(data), cluster_info(on="later")),
                       setup="narrow", forms=ONE_FORM)  # fmt: skip
    at_once = Differs("lookups-without-a-queue", "OVERLOAD", "^(?!.*OVERLOAD)")
    for code, differs, attempts in ((105, at_once, 20), (206, None, 1)):
        # The other pool's request among them is answered whatever the flood does.
        flood = tuple(Request(code, {"topic": "none"}) for _ in range(400))
        steps = (cluster_info(), Together(flood, kinds_only=True, differs=differs), cluster_info(), route())
        yield Scenario(f"flood-of-{code}", "B077 B078", steps, setup="narrow", forms=BOTH_ENCODINGS, attempts=attempts)


SCENARIOS = (*_closing(), *_pieces(), *_sizes(), *_narrow())
