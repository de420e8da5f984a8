"""Frames and connections: lengths, pieces, floods, the PROXY protocol, and TLS (B001, B042-B078)."""

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
    Settle,
    Step,
    Together,
    Until,
    Waits,
    Write,
)
from interop.parity.language import Handshake as Tls
from interop.parity.requests import cluster_info, get, kv_list, put, register, registration, route, route_of
from interop.parity.setups import tls_properties

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


SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
ADDRESSES = bytes([10, 1, 1, 1, 10, 2, 2, 2]) + struct.pack(">HH", 4444, 9876)
ADDRESSES_6 = bytes(15) + b"\1" + bytes(15) + b"\2" + struct.pack(">HH", 4444, 9876)
# The first bytes of a TLS connection, cut: the type of the record is what is looked at.
HELLO = b"\x16\x03\x01\x00\x05hello" + b"\0" * 16
TLV = b"\x03\x00\x04abcd\xea\x00\x02ok"


def v2(command: int = 0x21, family: int = 0x11, addresses: bytes = ADDRESSES, length: int | None = None) -> bytes:
    """A PROXY protocol header, version 2."""
    length = len(addresses) if length is None else length
    return SIGNATURE + struct.pack(">BBH", command, family, length) + addresses


# Headers of both versions, those that are taken and those that close: whichever of the two, both servers agree.
PROXIED = (
    ("v1-tcp4", "B054", b"PROXY TCP4 10.1.1.1 10.2.2.2 4444 9876\r\n"),
    ("v1-tcp6", "B054", b"PROXY TCP6 2001:db8::1 ::1 4444 9876\r\n"),
    ("v1-unknown", "B055", b"PROXY UNKNOWN\r\n"),
    ("v1-unknown-with-more", "B055", b"PROXY UNKNOWN ffff:f...f:ffff ffff 65535 65535\r\n"),
    ("v1-lower-case", "B056", b"proxy TCP4 10.1.1.1 10.2.2.2 4444 9876\r\n"),
    ("v1-bad-protocol", "B056", b"PROXY TCP5 10.1.1.1 10.2.2.2 4444 9876\r\n"),
    ("v1-udp", "B056", b"PROXY UDP4 10.1.1.1 10.2.2.2 4444 9876\r\n"),
    ("v1-bad-address", "B056", b"PROXY TCP4 10.1.1.999 10.2.2.2 4444 9876\r\n"),
    ("v1-address-of-other-family", "B056", b"PROXY TCP4 ::1 10.2.2.2 4444 9876\r\n"),
    ("v1-bad-port", "B056", b"PROXY TCP4 10.1.1.1 10.2.2.2 70000 9876\r\n"),
    ("v1-port-0", "B056", b"PROXY TCP4 10.1.1.1 10.2.2.2 0 9876\r\n"),
    ("v1-port-as-word", "B056", b"PROXY TCP4 10.1.1.1 10.2.2.2 x 9876\r\n"),
    ("v1-part-missing", "B056", b"PROXY TCP4 10.1.1.1 10.2.2.2 4444\r\n"),
    ("v1-part-too-many", "B056", b"PROXY TCP4 10.1.1.1 10.2.2.2 4444 9876 1\r\n"),
    ("v1-two-blanks", "B056", b"PROXY TCP4  10.1.1.1 10.2.2.2 4444 9876\r\n"),
    ("v1-only-newline", "B056", b"PROXY TCP4 10.1.1.1 10.2.2.2 4444 9876\n"),
    ("v1-too-long", "B056", b"PROXY TCP4 " + b"1" * 120 + b"\r\n"),
    ("v1-without-blank", "B056", b"PROXYTCP4 10.1.1.1 10.2.2.2 4444 9876\r\n"),
    ("v1-nothing-more", "B056", b"PROXY\r\n       \r\n"),
    ("v2-tcp4", "B057", v2()),
    ("v2-tcp6", "B057", v2(family=0x21, addresses=ADDRESSES_6)),
    ("v2-udp4", "B057", v2(family=0x12)),
    ("v2-unix", "B057", v2(family=0x31, addresses=b"/a".ljust(216, b"\0"))),
    ("v2-unspecified", "B057", v2(family=0x00, addresses=b"")),
    ("v2-local", "B057", v2(command=0x20, family=0x00, addresses=b"")),
    ("v2-local-with-addresses", "B057", v2(command=0x20)),
    ("v2-with-tlvs", "B057", v2(addresses=ADDRESSES + TLV)),
    ("v2-with-cut-tlv", "B057", v2(addresses=ADDRESSES + TLV[:5])),
    ("v2-with-odd-bytes", "B057", v2(addresses=ADDRESSES + b"\x04")),
    ("v2-version-1", "B056", v2(command=0x11)),
    ("v2-version-3", "B056", v2(command=0x31)),
    ("v2-command-2", "B056", v2(command=0x22)),
    ("v2-family-4", "B056", v2(family=0x41)),
    ("v2-protocol-3", "B056", v2(family=0x13)),
    ("v2-addresses-too-short", "B056", v2(addresses=ADDRESSES[:6])),
    ("v2-bad-signature", "B056", b"\r\n\r\n\0\r\nQUIX\n" + v2()[12:]),
)
FRAME = Request(106)


def _proxied() -> Iterator[Scenario]:
    for name, rows, header in PROXIED:
        steps: tuple[Step, ...] = (
            Send(header), Ask(FRAME), cluster_info(), Send(header[:14], on="parts"), Waits(on="parts"),
            Send(header[14:], on="parts"), Ask(FRAME, on="parts"),
        )  # fmt: skip
        yield Scenario(f"proxy-{name}", f"{rows} B058", steps, forms=ONE_FORM)
    header = v2()
    broker: tuple[Step, ...] = (
        Send(header, on="broker"), register(on="broker"), Dribble(route_of(), on="broker"), HangUp(on="broker"),
        Settle(), route(),
    )  # fmt: skip
    yield Scenario("broker-behind-a-proxy", "B054 B187", broker, forms=BOTH_ENCODINGS)
    long = (Send(v2(length=0xFFFF)), Waits(), Send(b"x" * 60_000), Waits())
    # On a busy machine the state would be looked at after the 10 s that rocketns gives a header; Java waits for it.
    yield Scenario("proxy-v2-longer-than-what-comes", "B057 B058", long, forms=ONE_FORM, state=False)
    twice = (Send(header), Send(header), Ask(FRAME))
    yield Scenario("proxy-header-twice", "B056", twice, forms=ONE_FORM)
    yield Scenario("proxy-header-later", "B056", (cluster_info(), Send(header), Ask(FRAME)), forms=ONE_FORM)
    bytewise = tuple(Send(header[place : place + 1]) for place in range(len(header)))
    yield Scenario("proxy-header-byte-by-byte", "B058", (*bytewise, Ask(FRAME)), forms=ONE_FORM)


def _permissive() -> Iterator[Scenario]:
    """The test mode's certificate, made by each server for itself."""
    shaken = (Tls(), register(), route(), HangUp(), Settle(), route(on="plain"))
    yield Scenario("tls-and-plain-on-one-port", "B064 B065 B187", shaken)
    for name, header in (("v1", PROXIED[0][2]), ("v2", v2())):
        yield Scenario(f"tls-behind-proxy-{name}", "B059", (Send(header), Tls(), cluster_info()), forms=BOTH_ENCODINGS)
    yield Scenario("tls-with-a-client-certificate", "B064 B075",
                   (Tls(client="client"), cluster_info(), Tls(client="stranger", on="x"), cluster_info(on="x")),
                   forms=ONE_FORM)  # fmt: skip
    yield Scenario("tls-that-is-none", "B064", (Ask(HELLO), cluster_info(on="other")), forms=ONE_FORM)


def _other_modes() -> Iterator[Scenario]:
    refused = (Tls(), Ask(HELLO, on="x"), cluster_info(on="plain"))
    yield Scenario("tls-disabled", "B063", refused, setup="narrow", forms=ONE_FORM)
    # "Enforcing" with a capital letter is no mode: permissive, here without a usable certificate.
    yield Scenario("tls-without-a-certificate", "B068 B074", refused, setup="binary", forms=ONE_FORM)


def _enforcing() -> Iterator[Scenario]:
    def enforcing(name: str, rows: str, *steps: Step) -> Scenario:
        return Scenario(name, rows, steps, setup="enforcing", forms=ONE_FORM, state=False)

    yield enforcing("tls-enforced", "B066 B067 B069", Ask(FRAME), Tls(on="tls"), register(on="tls"), route(on="tls"),
                    HangUp(on="tls"), Tls(on="later"), Until(route_of(), code=17, on="later"))  # fmt: skip
    yield enforcing("tls-enforced-behind-a-proxy", "B059 B066", Send(v2()), Tls(), cluster_info(), Send(v2(), on="x"),
                    Ask(FRAME, on="x"))  # fmt: skip
    # Before the others: they change the paths, after which Java watches its first files in vain.
    changed = (
        Write("tls.properties", tls_properties("reloaded")), Write("reloaded.crt", "pem:server-again.crt"),
        Write("reloaded.key", "pem:server-again.key#again"), Tls(on="before", until="CN=server-again "),
        Write("reloaded.crt", "pem:other.crt"), Waits(on="before", for_s=1.5), Tls(on="still"),
        Write("reloaded.key", "pem:other.key"), Tls(on="new", until="CN=other "), cluster_info(on="new"),
        cluster_info(on="still"), cluster_info(on="before"),
    )  # fmt: skip
    yield enforcing("certificate-and-key-changed", "B070 B071 B073", *changed)
    for mode in ("none", "OPTIONAL", "Require", "perhaps"):
        for checked in ("false", "true"):
            name = f"{mode.lower()}-{checked}"
            yield enforcing(
                f"client-certificates-{name}",
                "B072 B073 B075",
                *(Tls(client="client", on="before"), cluster_info(on="before"), *_now(name, mode, checked)),
                *(step for client in ("", "client", "stranger", "expired") for step in _tried(client)),
                cluster_info(on="before"),
            )


def _now(name: str, mode: str, checked: str) -> tuple[Step, ...]:
    """Other settings, in force as soon as the trust file changes: then the certificate of that name is shown."""
    return (
        Write(f"{name}.crt", f"pem:server-{name}.crt"),
        Write(f"{name}.key", f"pem:server-{name}.key"),
        Write("tls.properties", tls_properties(name, client_auth=mode, auth_client=checked)),
        Write("trust.crt", f"pem:authority.crt#{name}"),
        Tls(client="client", until=f"CN=server-{name} ", on="new"),
        cluster_info(on="new"),
    )


def _tried(client: str) -> Iterator[Step]:
    for version in ("TLSv1_2", "TLSv1_3"):
        on = f"{version} {client}"
        yield from (Tls(client=client, version=version, on=on), cluster_info(on=on))


SCENARIOS = (
    *_closing(), *_pieces(), *_sizes(), *_narrow(), *_proxied(), *_permissive(), *_other_modes(), *_enforcing(),
)  # fmt: skip
