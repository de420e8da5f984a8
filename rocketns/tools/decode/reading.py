"""What people have of a conversation: hex, base64, lists of decimal numbers, bytes, captures, the shadow's pairs.

Of captures, pcap and pcapng, packets that are out of order are not put in order. Where bytes are missing a stream ends,
and says how far it came.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rocketns.addresses import with_port
from rocketns.errors import RocketnsError

BYTES_MAX = 256 * 1024 * 1024
FORMAT = {"format": "rocketns-frames", "version": 1}  # the first line of recorded pairs
NUMBER_MAX, PEER_CHARACTERS_MAX = 2**53, 255
_BYTE = r"[0-9a-fA-F]{2}"
# hexdump -C, od, xxd, tcpdump -X, Wireshark: an offset, bytes, and the bytes as characters. The last row may be an
# offset alone.
_BYTES = rf"(?:{_BYTE} {{1,2}})*{_BYTE}|(?:{_BYTE}{_BYTE} )*(?:{_BYTE}){{1,2}}"
_ROW = re.compile(rf"\s*(?:0x)?([0-9a-fA-F]{{4,8}}):?(?:\s+({_BYTES})(?:\s{{2,}}.*)?)?\s*")
_HEX = re.compile(rf"(?:(?:0x|\\x)?{_BYTE}[\s,:;]*)+")
_HEX_MARK = re.compile(r"0x|\\x|[\s,:;]+")
_DECIMAL = re.compile(r"[\[({]?\s*-?[0-9]{1,3}(?:[\s,;]+-?[0-9]{1,3})*\s*[\])}]?")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\s-]+={0,2}\s*")
STREAMS_MAX = 10_000
STREAM_BYTES_MAX = 64 * 1024 * 1024
PCAP_MAGICS = {b"\xa1\xb2\xc3\xd4": (">", 6), b"\xd4\xc3\xb2\xa1": ("<", 6),
               b"\xa1\xb2\x3c\x4d": (">", 9), b"\x4d\x3c\xb2\xa1": ("<", 9)}  # fmt: skip
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _SIMPLE, _PACKET = 0x0A0D0D0A, 1, 3, 6
_LITTLE = b"\x4d\x3c\x2b\x1a"
_IF_TSRESOL = 9
_IPV4, _IPV6, _VLANS = 0x0800, 0x86DD, (0x8100, 0x88A8)
_TCP = 6
_SYN = 2
# Bytes before the EtherType and before what follows, by link type: Ethernet, Linux "any" of both versions.
_ETHERNETS = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
_NO_LINK = (12, 14, 101, 228, 229)  # raw IP
_LOOPBACK = (0, 108)  # BSD: four bytes


class FormError(RocketnsError):
    """What was given is in no form that is read."""


@dataclass(slots=True)
class Stream:
    """What one side of a connection sent; both sides have one ``conversation``.

    ``times``: epoch seconds of packets, ``starts`` where each begins. ``gap``: why it ends before its last
    packet; empty: it does not.
    """

    source: str = ""
    target: str = ""
    data: bytearray = field(default_factory=bytearray)
    conversation: str = ""
    starts: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    gap: str = ""
    next_seq: int | None = None

    def time_at(self, offset: int) -> float | None:
        """When the byte at this place was captured."""
        found = bisect_right(self.starts, offset) - 1
        return self.times[found] if found >= 0 else None

    def add(self, seq: int, data: bytes, at_s: float) -> None:
        """A segment. One that came before is left out."""
        if self.next_seq is None:
            self.next_seq = seq
        ahead = (seq - self.next_seq + (1 << 31)) % (1 << 32) - (1 << 31)
        if self.gap or -ahead >= len(data):
            return
        if ahead > 0:
            self.gap = f"{ahead} bytes are missing: a packet was lost, cut, or is out of order"
            return
        if len(self.data) >= STREAM_BYTES_MAX:
            self.gap = f"only the first {STREAM_BYTES_MAX} bytes are read"
            return
        new = data[-ahead:]
        self.starts.append(len(self.data))
        self.times.append(at_s)
        self.data += new
        self.next_seq = (self.next_seq + len(new)) % (1 << 32)


def read(data: bytes) -> list[Stream]:
    """The streams of a file, whose form is told by its bytes. FormError."""
    if len(data) > BYTES_MAX:
        raise FormError(f"more than {BYTES_MAX} bytes")
    if data[:4] in PCAP_MAGICS or data.startswith(PCAPNG_MAGIC):
        return streams(data)
    if data.startswith(b"{") and b"rocketns-frames" in data[:200]:
        return _pairs(data)
    try:
        found = _bytes_of(data.decode("ascii").strip())
        return [Stream(data=bytearray(data if found is None else found))]
    except UnicodeDecodeError:
        return [Stream(data=bytearray(data))]
    except ValueError as error:
        raise FormError(str(error)) from error


def _bytes_of(text: str) -> bytes | None:
    """Of hex, decimal numbers or base64. None: these are the bytes themselves. ValueError."""
    numbers = [one for one in re.split(r"[\s,;]+", text.strip("[](){} \n")) if one]
    if _DECIMAL.fullmatch(text) and len(numbers) > 1 and ("-" in text or any(len(one) != 2 for one in numbers)):
        # Java prints bytes from -128 to 127, other languages from 0 to 255.
        if any(not -128 <= int(one) <= 255 for one in numbers):
            raise ValueError("a number that is no byte")
        return bytes(int(one) & 0xFF for one in numbers)
    if dumped := _dumped(text):
        return dumped
    if not text or _HEX.fullmatch(text):
        return bytes.fromhex(_HEX_MARK.sub("", text))
    if _BASE64.fullmatch(text):
        plain = re.sub(r"\s+", "", text).replace("-", "+").replace("_", "/")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    return None


def _dumped(text: str) -> bytes:
    """The bytes of rows that begin with their offsets; a star stands for more rows like the last one. Empty: the text
    is no dump. Hex is one only if it has several rows with right offsets."""
    lines = [line for line in text.splitlines() if line.strip()]
    is_hex, data, row, begin, is_squeezed = _HEX.fullmatch(text) is not None, bytearray(), b"", 0, False
    for number, line in enumerate(lines):
        if line.strip() == "*":
            is_squeezed = True
            continue
        found = _ROW.fullmatch(line)
        if found is None or (is_hex and len(lines) == 1):
            return b""
        offset = int(found[1], 16)
        if number == 0 or (offset == 0 and not is_hex):  # another dump
            begin = len(data) - offset
        ahead = begin + offset - len(data)
        if ahead and not (row and is_squeezed and 0 < ahead <= BYTES_MAX - len(data)):
            return b""
        data += (row * (ahead // len(row) + 1))[:ahead] if ahead else b""
        row, is_squeezed = bytes.fromhex(found[2] or ""), False
        data += row
    return bytes(data)


class Recorded(NamedTuple):
    """A pair of the file beside a report of `rocketns shadow`: a request, and what the two servers answered, if they
    did. ``at_ms`` is the wall clock's; ``peer`` asked, over this connection."""

    at_ms: int
    connection: int
    peer: str
    request: bytes
    upstream: bytes | None
    own: bytes | None


def recorded(lines: Iterable[bytes]) -> Iterator[Recorded]:
    """Each pair. FormError names the line that cannot be read."""
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
            if number > 1:
                at_ms, connection, peer = fields["at_ms"], fields["connection"], fields["peer"]
                if not all(type(one) is int and 0 <= one <= NUMBER_MAX for one in (at_ms, connection)):
                    raise ValueError("at_ms and connection are numbers from 0 on")
                request, upstream, own = (_recorded_frame(fields[name]) for name in ("request", "upstream", "own"))
                if request is None or not isinstance(peer, str):
                    raise ValueError("a pair without a request or a peer")
                yield Recorded(at_ms, connection, peer[:PEER_CHARACTERS_MAX], request, upstream, own)
            elif any(fields.get(name) != value for name, value in FORMAT.items()):
                raise ValueError(f"it is no recording of rocketns with {FORMAT}")
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise FormError(f"line {number}: {error}") from error


def _recorded_frame(text: str | None) -> bytes | None:
    frame = None if text is None else base64.b64decode(text, validate=True)
    if frame is not None and int.from_bytes(frame[:4], "big") + 4 != len(frame):
        raise ValueError("a frame is not whole")
    return frame


def _pairs(data: bytes) -> list[Stream]:
    """A request, the answer of the upstream and that of rocketns, one after the other."""
    found = []
    for number, one in enumerate(recorded(data.split(b"\n")[:-1]), 1):
        client = f"client {one.peer}"
        ends = (client, "upstream", one.request), ("upstream", "client", one.upstream), ("rocketns", "client", one.own)
        found += [Stream(source, target, bytearray(frame), f"pair {number}") for source, target, frame in ends if frame]
    return found


def streams(data: bytes) -> list[Stream]:
    """The streams of all connections, in the order of their first packets. FormError."""
    found: dict[tuple[str, str], Stream] = {}
    ended: list[Stream] = []
    packets = _pcapng(data) if data.startswith(PCAPNG_MAGIC) else _pcap(data)
    for link, at_s, packet in packets:
        segment = _segment(link, packet)
        if segment is None:
            continue
        source, target, seq, flags, payload = segment
        stream = found.get((source, target))
        is_new = bool(flags & _SYN)  # of the same ports, too
        if stream is None or is_new:
            if len(found) + len(ended) >= STREAMS_MAX:
                raise FormError(f"more than {STREAMS_MAX} streams")
            ended += [] if stream is None else [stream]
            stream = found[source, target] = Stream(source, target, conversation=" ".join(sorted((source, target))))
            stream.next_seq = (seq + 1) % (1 << 32) if is_new else None
        if payload:
            stream.add((seq + is_new) % (1 << 32), payload, at_s)
    return [stream for stream in (*ended, *found.values()) if stream.data]


def _pcap(data: bytes) -> Iterator[tuple[int, float, bytes]]:
    order, digits = PCAP_MAGICS[data[:4]]
    if len(data) < 24:
        raise FormError("the file ends within its head")
    (link,) = struct.unpack_from(f"{order}I", data, 20)
    at = 24
    while at + 16 <= len(data):
        seconds, part, size, _whole = struct.unpack_from(f"{order}IIII", data, at)
        if at + 16 + size > len(data):
            return  # it was still being written
        yield link & 0xFFFF, seconds + part / 10**digits, data[at + 16 : at + 16 + size]
        at += 16 + size


def _pcapng(data: bytes) -> Iterator[tuple[int, float, bytes]]:
    order, at = "<", 0
    links: list[tuple[int, float]] = []  # link type, seconds of a unit of time
    while at + 12 <= len(data):
        if data[at : at + 4] == PCAPNG_MAGIC:
            order, links = "<" if data[at + 8 : at + 12] == _LITTLE else ">", []
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if size < 12 or at + size > len(data):
            return
        body = data[at + 8 : at + size - 4]
        if kind == _INTERFACE and len(body) >= 8:
            links.append((struct.unpack_from(f"{order}H", body)[0], _resolution(body[8:], order)))
        elif kind == _PACKET and len(body) >= 20:
            interface, high, low, kept = struct.unpack_from(f"{order}IIII", body)
            if interface < len(links):
                link, unit_s = links[interface]
                yield link, (high << 32 | low) * unit_s, body[20 : 20 + kept]
        elif kind == _SIMPLE and links:
            yield links[0][0], 0.0, body[4:]
        at += size


def _resolution(options: bytes, order: str) -> float:
    at = 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from(f"{order}HH", options, at)
        if code == _IF_TSRESOL and size and at + 4 < len(options):
            value = options[at + 4]
            return float(2 ** -(value & 0x7F) if value & 0x80 else 10.0**-value)
        at += 4 + (size + 3) // 4 * 4
    return 1e-6


def _segment(link: int, packet: bytes) -> tuple[str, str, int, int, bytes] | None:
    """Source, target, sequence number, flags and payload of a TCP packet. None for any other."""
    try:
        packet = _without_link(link, packet)
        if not packet:
            return None
        version = packet[0] >> 4
        if version == 4:
            if packet[9] != _TCP or int.from_bytes(packet[6:8], "big") & 0x1FFF:
                return None
            start, end = 4 * (packet[0] & 15), int.from_bytes(packet[2:4], "big") or len(packet)
            hosts = packet[12:16], packet[16:20]
        elif version == 6:
            if packet[6] != _TCP:
                return None
            start, end = 40, 40 + int.from_bytes(packet[4:6], "big")
            hosts = packet[8:24], packet[24:40]
        else:
            return None
        source, target, seq = struct.unpack_from(">HHI", packet, start)
        offset, flags = 4 * (packet[start + 12] >> 4), packet[start + 13]
        first, second = (str(ipaddress.ip_address(host)) for host in hosts)
        return with_port(first, source), with_port(second, target), seq, flags, packet[start + offset : end]
    except (IndexError, struct.error, ValueError):
        return None


def _without_link(link: int, packet: bytes) -> bytes:
    if link in _NO_LINK:
        return packet
    if link in _LOOPBACK:
        return packet[4:]
    if link not in _ETHERNETS:
        raise FormError(f"packets of link type {link} are not read")
    kind_at, start = _ETHERNETS[link]
    kind = int.from_bytes(packet[kind_at : kind_at + 2], "big")
    while kind in _VLANS:
        kind, start = int.from_bytes(packet[start + 2 : start + 4], "big"), start + 4
    return packet[start:] if kind in (_IPV4, _IPV6) else b""
