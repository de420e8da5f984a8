"""`rocketns decode`: what people paste and capture, as a person reads it, and where it stops making sense."""

from __future__ import annotations

import base64
import io
import json
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.wire import frame, json_header
from rocketns.__main__ import main
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_request
from rocketns.tools.decode.frames import body_of, frames
from rocketns.tools.decode.reading import FormError, Stream, read, streams
from rocketns.tools.decode.showing import REQUESTS, RESPONSES

Captured = pytest.CaptureFixture[str]
ASKED = frame(json_header(105, {"topic": "Orders", "Signature": "c2VjcmV0"}, opaque=7))
UNQUOTED = b'{brokerDatas:[{brokerAddrs:{0:"10.0.0.1:10911"},brokerName:"broker-a",cluster:"c"}],queueDatas:[]}'
ANSWER = frame(json_header(0, opaque=7, flag=1), UNQUOTED)
BOTH = ASKED + ANSWER


def said(
    capsys: Captured, data: bytes | str, *words: str, monkeypatch: pytest.MonkeyPatch | None = None
) -> tuple[int, str]:
    """Exit status and output for what standard input has."""
    given = io.TextIOWrapper(io.BytesIO(data.encode() if isinstance(data, str) else data))
    (monkeypatch or pytest.MonkeyPatch()).setattr(sys, "stdin", given)
    status = main(["decode", *words])
    return status, capsys.readouterr().out


def xxd(data: bytes) -> str:
    rows = (data[at : at + 16] for at in range(0, len(data), 16))
    return "\n".join(
        f"{16 * number:08x}: " + " ".join(row[at : at + 2].hex() for at in range(0, len(row), 2)).ljust(39)
        + "  " + "".join(chr(one) if 32 <= one < 127 else "." for one in row)
        for number, row in enumerate(rows)
    )  # fmt: skip


def hexdump(data: bytes) -> str:
    """As ``hexdump -C``: a star stands for rows like the one before, and the last row is the offset of the end."""
    rows, lines = [data[at : at + 16] for at in range(0, len(data), 16)], list[str]()
    for number, row in enumerate(rows):
        if number and row == rows[number - 1]:
            lines += [] if lines[-1] == "*" else ["*"]
            continue
        text = "".join(chr(one) if 32 <= one < 127 else "." for one in row)
        lines.append(f"{16 * number:08x}  {row[:8].hex(' ')}  {row[8:].hex(' ')}".ljust(58) + f"  |{text}|")
    return "\n".join((*lines, f"{len(data):08x}"))


def od(data: bytes) -> str:
    """As ``od -A x -t x1 -v``, whose text is hex alone."""
    rows = (f"{at:06x} {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16))
    return "\n".join((*rows, f"{len(data):06x}"))


WRITTEN: dict[str, Callable[[bytes], str]] = {
    "hex": bytes.hex,
    "hex in capitals, in pairs": lambda data: data.hex(" ").upper(),
    "hex of C": lambda data: ", ".join(f"0x{one:02x}" for one in data),
    "hex of Python": lambda data: "".join(f"\\x{one:02x}" for one in data),
    "xxd": xxd,
    "hexdump -C": hexdump,
    "od -A x -t x1": od,
    "hex in groups of four": lambda data: "\n".join(data[at : at + 16].hex(" ", -2) for at in range(0, len(data), 16)),
    "base64": lambda data: base64.encodebytes(data).decode(),
    "Java's bytes": lambda data: str([one - 256 * (one > 127) for one in data]),
    "unsigned bytes": lambda data: " ".join(map(str, data)),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_what_people_paste_is_read(form: str) -> None:
    """Also bytes that are the same for several rows."""
    data = BOTH + frame(json_header(0, opaque=8, flag=1), bytes(100))
    assert bytes(read(WRITTEN[form](data).encode())[0].data) == data


@pytest.mark.parametrize("text", [b"1, 300", b"YWJjZ", b'{"format": "rocketns-frames"'])
def test_what_ends_in_the_middle_is_refused(text: bytes) -> None:
    with pytest.raises(FormError):
        read(text + b"\n")


def test_request_and_answer_are_paired_and_secrets_are_not_shown(capsys: Captured) -> None:
    status, text = said(capsys, BOTH)
    assert status == 0
    assert "request GET_ROUTEINFO_BY_TOPIC (105), opaque 7" in text
    assert "response SUCCESS (0) to frame 1, GET_ROUTEINFO_BY_TOPIC (105)" in text
    assert '"0": "10.0.0.1:10911"' in text
    assert ("topic: Orders" in text, "c2VjcmV0" in text) == (True, False)


def test_names_are_replaced_by_the_same_ones_everywhere(capsys: Captured) -> None:
    status, text = said(capsys, BOTH.hex(), "--hide-names", "--json")
    assert status == 0
    assert not [name for name in ("Orders", "10.0.0.1", "broker-a", "c2VjcmV0") if name in text]
    asked, answer = json.loads(text)
    assert asked["fields"]["topic"] == "topic-1"
    assert answer["body"]["value"]["brokerDatas"][0]["brokerAddrs"] == {"0": "host-1:10911"}


@pytest.mark.parametrize("code", [12, 50, 0x524E])
def test_codes_have_the_names_of_brokers_requests_too(code: int) -> None:
    assert REQUESTS[code].isupper()
    assert (RESPONSES[26], RESPONSES[2005]) == ("SUBSCRIPTION_GROUP_NOT_EXIST", "CONTROLLER_INVALID_REQUEST")


def test_a_compressed_registration_is_inflated() -> None:
    plain = (
        b"".join(struct.pack(">i", len(one)) + one for one in (b"{}",)) + struct.pack(">i", 0) + struct.pack(">i", 2)
    )
    body = zlib.compress(plain + b"[]" + struct.pack(">i", 0))
    data = frame(json_header(103, {"compressed": "true"}), body)
    found = frames(read(data))[0]
    assert body_of(found).kind == "registration"


def test_a_binary_header_is_read_by_its_declaration() -> None:
    _, data = encode_request(105, {"topic": "Orders"}, SerializeType.ROCKETMQ)
    (found,) = frames(read(data))
    assert (found.form, found.fields) == ("ROCKETMQ", {"topic": "Orders"})


HEAD = 8
SPOILT: dict[str, tuple[bytes, int]] = {
    "the length": (b"\xff" + ASKED[1:], 0),
    "the form of the header": (ASKED[:4] + b"\x07" + ASKED[5:], 4),
    "the header's length": (ASKED[:5] + b"\xff" + ASKED[6:], 5),
    "the header": (ASKED[: HEAD + 9] + b"}" + ASKED[HEAD + 10 :], HEAD + 10),
    "a frame that is cut": (ASKED[:-3], len(ASKED) - 3),
    "a head that is cut": (ASKED + b"\x00\x00\x00", len(ASKED) + 3),
    "what follows": (ASKED + b"\x00\x00\x00\x65\x09" + bytes(200), len(ASKED) + 4),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 0),
    "gRPC": (bytes.fromhex("000018040000000000000400400000"), 0),
}


@pytest.mark.parametrize("what", SPOILT)
def test_it_says_at_which_byte_it_stops_making_sense(what: str, capsys: Captured) -> None:
    data, at = SPOILT[what]
    status, text = said(capsys, data, "--json")
    faults = [one["at"] for found in json.loads(text) for one in found["faults"]]
    assert (status, faults[0]) == (1, at)


@pytest.mark.parametrize("cut", range(1, len(ASKED), 7))
def test_no_cut_frame_is_more_than_a_fault(cut: int) -> None:
    for data in (BOTH[:cut], BOTH[:-cut], BOTH[cut:]):
        assert any(one.faults for one in frames([Stream(data=bytearray(data))]))


CLIENT, SERVER = (bytes([10, 0, 0, 1]), 50000), (bytes([10, 0, 0, 2]), 9876)


def packet(source: tuple[bytes, int], target: tuple[bytes, int], seq: int, data: bytes, flags: int = 0x18) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], seq, 0, 5 << 4, flags, 0, 0, 0) + data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, source[0], target[0]) + tcp
    return bytes(12) + b"\x08\x00" + ip


# Retransmitted, and in pieces.
PACKETS = [
    packet(CLIENT, SERVER, 99, b"", 2), packet(SERVER, CLIENT, 999, b"", 0x12), packet(CLIENT, SERVER, 100, ASKED[:50]),
    packet(CLIENT, SERVER, 100, ASKED[:60]), packet(CLIENT, SERVER, 160, ASKED[60:]),
    packet(SERVER, CLIENT, 1000, ANSWER),
]  # fmt: skip


def pcap(packets: list[bytes]) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", 1_700_000_000, at, len(one), len(one)) + one
                           for at, one in enumerate(packets))  # fmt: skip


def pcapng(packets: list[bytes]) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        padded = body + bytes(-len(body) % 4)
        return struct.pack("<II", kind, 12 + len(padded)) + padded + struct.pack("<I", 12 + len(padded))

    head = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 0))
    return head + b"".join(block(6, struct.pack("<IIIII", 0, 0, at, len(one), len(one)) + one)
                           for at, one in enumerate(packets, 1))  # fmt: skip


@pytest.mark.parametrize("written", [pcap, pcapng])
def test_a_capture_is_read_connection_by_connection(
    written: Callable[[list[bytes]], bytes], tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "capture"
    path.write_bytes(written(PACKETS))
    assert main(["decode", str(path)]) == 0
    text = capsys.readouterr().out
    assert "10.0.0.2:9876 > 10.0.0.1:50000" in text
    assert "response SUCCESS (0) to frame 1" in text


def test_where_a_packet_is_missing_the_stream_ends() -> None:
    asked, answered = streams(pcap([one for at, one in enumerate(PACKETS) if at != 3]))
    assert ("10 bytes are missing" in asked.gap, answered.gap) == (True, "")
    assert [one.faults[0][0] for one in frames([asked]) if one.faults] == [50, 50]


def test_the_pairs_of_a_shadows_report_are_read(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "pairs"
    pair = {"peer": "10.0.0.1:5", "connection": 1, "at_ms": 1, "outcome": "different",
            **{name: base64.b64encode(one).decode() for name, one in
               (("request", ASKED), ("upstream", ANSWER), ("own", ANSWER))}}  # fmt: skip
    path.write_text(json.dumps({"format": "rocketns-frames", "version": 1}) + "\n" + json.dumps(pair) + "\n")
    assert main(["decode", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["kind"], one["answers"]) for one in found] == [("request", None), ("response", 1), ("response", 1)]


def test_a_file_that_cannot_be_read_is_a_line(capsys: Captured) -> None:
    assert main(["decode", "/nowhere/at/all"]) == 2
    assert capsys.readouterr().err.startswith("rocketns decode: ")
