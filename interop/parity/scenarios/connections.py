"""The bytes before the first frame: PROXY protocol and TLS (B054-B075)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from interop.parity.language import (
    BOTH_ENCODINGS,
    ONE_FORM,
    Ask,
    Dribble,
    HangUp,
    Request,
    Scenario,
    Send,
    Settle,
    Step,
    Until,
    Waits,
    Write,
)
from interop.parity.language import Handshake as Tls
from interop.parity.phrases import cluster_info, register, route, route_of
from interop.parity.setups import tls_properties

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
    yield Scenario("proxy-v2-longer-than-what-comes", "B057 B058", long, forms=ONE_FORM)
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
                *(step for client in ("", "client", "stranger") for step in _tried(client)),
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


def _tried(client: str) -> tuple[Step, ...]:
    return Tls(client=client, on=f"client {client}"), cluster_info(on=f"client {client}")


SCENARIOS = (*_proxied(), *_permissive(), *_other_modes(), *_enforcing())
