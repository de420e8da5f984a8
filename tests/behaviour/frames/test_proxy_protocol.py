"""The PROXY protocol header that a load balancer puts in front of a connection."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header
from tests.support.proxyheaders import (
    LOCAL,
    SIGNATURE,
    TCP4,
    TCP6,
    UDP4,
    UDP6,
    UNIX_ADDRESSES,
    UNIX_DGRAM,
    UNIX_STREAM,
    UNSPEC,
    addresses4,
    addresses6,
    tlv,
    v1,
    v2,
)
from tests.support.tlsclient import TlsClient, answers

REQUEST = frame(json_header(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"}))
IPV4, IPV6 = addresses4("192.0.2.7", 56324), addresses6("2001:db8::7", 56324)
NESTED = tlv(0x20, b"\x01\0\0\0\0" + tlv(0x21, b"TLSv1.3") + tlv(0x22, b"client"))  # PP2_TYPE_SSL

V1_ADDRESSED = {
    "tcp4": v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443),
    "tcp6": v1("TCP6", "2001:db8::7", "2001:db8::1", 56324, 443),
    "tcp6 longest": v1("TCP6", ":".join(["ffff"] * 8), ":".join(["ffff"] * 8), 65535, 65535),
}
V1_UNKNOWN = {
    "alone": b"PROXY UNKNOWN\r\n",
    "with addresses": v1("UNKNOWN", "ffff::", "nonsense", "x", -1),
    "108 characters": b"PROXY UNKNOWN ".ljust(108, b"x") + b"\r\n",
}
V1_MALFORMED = {
    "lower case": b"PROXY tcp4 192.0.2.7 192.0.2.1 56324 443\r\n",
    "another word": b"PROXYING TCP4 192.0.2.7 192.0.2.1 56324 443\r\n",
    "another protocol": v1("UDP4", "192.0.2.7", "192.0.2.1", 56324, 443),
    "no protocol": b"PROXY        \r\n",
    "no ports": v1("TCP4", "192.0.2.7", "192.0.2.1"),
    "one more word": v1("TCP4", "192.0.2.7", "192.0.2.1", 1, 2, 3),
    "port 0": v1("TCP4", "192.0.2.7", "192.0.2.1", 0, 443),
    "port 65536": v1("TCP4", "192.0.2.7", "192.0.2.1", 1, 65536),
    "port in words": v1("TCP4", "192.0.2.7", "192.0.2.1", "a", "b"),
    "no address": v1("TCP4", "192.0.2", "192.0.2.1", 1, 2),
    "address too large": v1("TCP4", "192.0.2.256", "192.0.2.1", 1, 2),
    "ipv6 in tcp4": v1("TCP4", "2001:db8::7", "192.0.2.1", 1, 2),
    "ipv4 in tcp6": v1("TCP6", "192.0.2.7", "2001:db8::1", 1, 2),
    "109 characters": b"PROXY UNKNOWN ".ljust(109, b"x") + b"\r\n",
    "no end": b"PROXY UNKNOWN ".ljust(120, b"x"),
}
V2_GOOD = {
    "tcp4": v2(TCP4, IPV4),
    "udp4": v2(UDP4, IPV4),
    "tcp6": v2(TCP6, IPV6),
    "udp6": v2(UDP6, IPV6),
    "unix stream": v2(UNIX_STREAM, UNIX_ADDRESSES),
    "unix datagram": v2(UNIX_DGRAM, UNIX_ADDRESSES + tlv(0x04, b"")),
    "unspecified": v2(UNSPEC, b"whatever"),
    "local": v2(UNSPEC, command=LOCAL),
    "local with addresses": v2(TCP4, IPV4, command=LOCAL),
    "local of an unknown family": v2(0xFF, b"x", command=LOCAL),
    "tlvs": v2(TCP4, IPV4 + tlv(0x01, b"h2") + tlv(0xEA, b"\x01vpce-1") + tlv(0x05, b"\xff" * 128)),
    "nested tlvs": v2(TCP6, IPV6 + NESTED),
    "three bytes left over": v2(TCP4, IPV4 + tlv(0x01, b"h2") + b"\x01\xff\xff"),
}  # fmt: skip
V2_MALFORMED = {
    "version 1": v2(TCP4, IPV4, version=1),
    "version 3": v2(TCP4, IPV4, version=3),
    "command 2": v2(TCP4, IPV4, command=2),
    "family 4": v2(0x41, IPV4),
    "transport 3": v2(0x13, IPV4),
    "family without transport": v2(0x10, IPV4),
    "ipv4 cut": v2(TCP4, IPV4[:-1]),
    "ipv6 cut": v2(TCP6, IPV4),
    "unix cut": v2(UNIX_STREAM, UNIX_ADDRESSES[:-1]),
    "tlv too long": v2(TCP4, IPV4 + tlv(0x01, b"h2", length=3)),
    "tlv after unix too long": v2(UNIX_STREAM, UNIX_ADDRESSES + tlv(0x01, b"h2", length=3)),
    "nested tlv too long": v2(TCP4, IPV4 + tlv(0x20, b"\x01\0\0\0\0" + tlv(0x21, b"abc", length=4))),
    "nested tlvs too short": v2(TCP4, IPV4 + tlv(0x20, b"\x01\0\0")),
}  # fmt: skip


def is_answered_after(client: Client, header: bytes) -> bool:
    """Header and request in one piece, then one more request."""
    client.send(header + REQUEST)
    assert client.receive().code == codes.QUERY_NOT_FOUND
    return answers(client)


GOOD = [*V1_ADDRESSED.items(), *V1_UNKNOWN.items(), *V2_GOOD.items()]
MALFORMED = [*V1_MALFORMED.items(), *V2_MALFORMED.items()]


@pytest.mark.parametrize("header", [header for _, header in GOOD], ids=[name for name, _ in GOOD])
def test_the_frames_behind_a_header_are_answered(client: Client, header: bytes) -> None:
    """B054, B055, B057: addresses or none; commands PROXY and LOCAL, every family, with extensions."""
    assert is_answered_after(client, header)


@pytest.mark.parametrize("header", [header for _, header in MALFORMED], ids=[name for name, _ in MALFORMED])
def test_a_malformed_header_closes_the_connection(client: Client, header: bytes) -> None:
    """B056, B057: the frame behind it is not answered."""
    client.send(header + REQUEST)
    assert client.is_closed_by_server()


def test_a_second_header_is_no_frame(client: Client) -> None:
    """B054: only the first bytes of a connection can be a PROXY header."""
    client.send(V1_ADDRESSED["tcp4"] * 2 + REQUEST)
    assert client.is_closed_by_server()


@pytest.mark.parametrize("header", [V1_ADDRESSED["tcp4"], V2_GOOD["tlvs"]], ids=["v1", "v2"])
@pytest.mark.parametrize("size", [1, 5, 11, 13])
def test_a_header_in_fragments(client: Client, header: bytes, size: int) -> None:
    """B058: in pieces of any size, the request in the last ones."""
    data = header + REQUEST
    for at in range(0, len(data), size):
        client.send(data[at : at + size])
    assert client.receive().code == codes.QUERY_NOT_FOUND


@pytest.mark.parametrize("start", [b"PROXY TCP4 192.0.2.7", SIGNATURE + b"\x21\x11\xff\xff"], ids=["v1", "v2"])
def test_a_header_without_an_end_waits(client: Client, start: bytes) -> None:
    """B058: nothing is answered, nothing closed."""
    client.send(start)
    assert client.stays_silent()


@pytest.mark.parametrize("header", [V1_ADDRESSED["tcp6"], V1_UNKNOWN["alone"], V2_GOOD["tcp4"], V2_GOOD["local"]])
def test_tls_after_a_header(server: NameServer, header: bytes) -> None:
    """B059: the TLS handshake follows the plain header."""
    with TlsClient(server.port, before=header) as client:
        assert answers(client)


@pytest.mark.parametrize(
    ("header", "source"),
    [
        (v1("TCP4", "198.51.100.21", "192.0.2.1", 40021, 443), "198.51.100.21:40021"),
        (v1("TCP6", "2001:db8::22", "2001:db8::1", 40022, 443), "2001:db8::22:40022"),
        (v2(TCP4, addresses4("198.51.100.23", 40023)), "198.51.100.23:40023"),
        (v2(TCP6, addresses6("2001:db8::24", 40024)), "2001:db8::24:40024"),
    ],
    ids=["v1 tcp4", "v1 tcp6", "v2 tcp4", "v2 tcp6"],
)
def test_the_announced_peer_stands_in_log_lines(server: NameServer, header: bytes, source: str) -> None:
    """B054, B057: a connection is named by its real peer, not by the load balancer."""
    if server.kind == "java":
        pytest.skip("Java's logback configuration decides where it logs, and these tests give it none")
    with server.connect() as client:
        assert is_answered_after(client, header)
    eventually(lambda: f"channelInactive, the channel[{source}]" in server.process.text())


def test_a_header_without_addresses_leaves_the_socket_peer_in_log_lines(server: NameServer) -> None:
    """B055: as in Java, which does not set the attribute in this case."""
    if server.kind == "java":
        pytest.skip("Java's logback configuration decides where it logs, and these tests give it none")
    with server.connect() as client:
        host, port = client.socket.getsockname()
        assert is_answered_after(client, V1_UNKNOWN["alone"])
    eventually(lambda: f"channelInactive, the channel[{host}:{port}]" in server.process.text())
