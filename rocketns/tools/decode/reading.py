"""What people have of a conversation: hex, base64, lists of decimal numbers, bytes, captures, the shadow's pairs."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable

from rocketns.errors import RocketnsError
from rocketns.tools.decode.capture import PCAP_MAGICS, PCAPNG_MAGIC, Stream, streams

BYTES_MAX = 256 * 1024 * 1024
FORMAT = "rocketns-frames"  # see `rocketns.shadow.recording`
_BYTE = r"[0-9a-fA-F]{2}"
# hexdump -C, xxd, tcpdump -X, Wireshark: an offset, bytes, and the bytes again as characters.
_BYTES = rf"(?:{_BYTE} {{1,2}})*{_BYTE}|(?:{_BYTE}{_BYTE} )*(?:{_BYTE}){{1,2}}"
_DUMP = re.compile(rf"\s*(?:0x)?[0-9a-fA-F]{{4,8}}:?\s+({_BYTES})(?:\s{{2,}}.*|\s*)")
_HEX = re.compile(rf"(?:(?:0x|\\x)?{_BYTE}[\s,:;]*)+")
_HEX_MARK = re.compile(r"0x|\\x|[\s,:;]+")
_DECIMAL = re.compile(r"[\[({]?\s*-?[0-9]{1,3}(?:[\s,;]+-?[0-9]{1,3})*\s*[\])}]?")
_BASE64 = re.compile(r"[A-Za-z0-9+/_\s-]+={0,2}\s*")


class FormError(RocketnsError):
    """The text is in no form that is read, or not in the one that was named."""


def read(data: bytes, form: str = "") -> list[Stream]:
    """The streams of a file. ``form`` is one of FORMS; by default it is told by the bytes. FormError, CaptureError."""
    if len(data) > BYTES_MAX:
        raise FormError(f"more than {BYTES_MAX} bytes")
    name = form or _told(data)
    if name in ("raw", "pcap", "pairs"):
        return {"raw": _one, "pcap": _packets, "pairs": _pairs}[name](data)
    try:
        return _one(TEXTS[name](data.decode("ascii")))
    except (UnicodeDecodeError, ValueError, binascii.Error) as error:
        raise FormError(f"it is not {name}: {error}") from error


def _told(data: bytes) -> str:
    if data[:4] in PCAP_MAGICS or data.startswith(PCAPNG_MAGIC):
        return "pcap"
    if data.startswith(b"{") and FORMAT.encode() in data[:200]:
        return "pairs"
    try:
        text = data.decode("ascii").strip()
    except UnicodeDecodeError:
        return "raw"
    numbers = re.split(r"[\s,;]+", text.strip("[](){} \n"))
    is_decimal = _DECIMAL.fullmatch(text) and len(numbers) > 1
    if is_decimal and ("-" in text or any(len(one) != 2 for one in numbers)):
        return "decimal"
    if _HEX.fullmatch(text) or all(_DUMP.fullmatch(line) for line in text.splitlines() if line.strip()):
        return "hex"
    return "base64" if _BASE64.fullmatch(text) else "raw"


def _hex(text: str) -> bytes:
    lines = [line for line in text.splitlines() if line.strip()]
    dump = [_DUMP.fullmatch(line) for line in lines]
    if dump and all(dump) and not _HEX.fullmatch(text.strip()):
        text = " ".join(found[1] for found in dump if found)
    return bytes.fromhex(_HEX_MARK.sub("", text))


def _decimal(text: str) -> bytes:
    """Java prints bytes from -128 to 127, other languages from 0 to 255."""
    numbers = [int(one) for one in re.split(r"[\s,;]+", text.strip().strip("[](){} \n")) if one]
    if any(not -128 <= one <= 255 for one in numbers):
        raise ValueError("a number that is no byte")
    return bytes(one & 0xFF for one in numbers)


def _base64(text: str) -> bytes:
    plain = re.sub(r"\s+", "", text).replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


TEXTS: dict[str, Callable[[str], bytes]] = {"hex": _hex, "base64": _base64, "decimal": _decimal}
FORMS = (*TEXTS, "raw", "pcap", "pairs")


def _one(data: bytes) -> list[Stream]:
    return [Stream(data=bytearray(data))]


def _packets(data: bytes) -> list[Stream]:
    if data[:4] not in PCAP_MAGICS and not data.startswith(PCAPNG_MAGIC):
        raise FormError("it is no capture: pcap and pcapng are read")
    return streams(data)


def _pairs(data: bytes) -> list[Stream]:
    """A request, the answer of the upstream and that of rocketns, one after the other."""
    found = []
    for number, line in enumerate(data.splitlines()[1:], 2):
        try:
            pair = json.loads(line)
            frames = [base64.b64decode(pair.get(name) or "") for name in ("request", "upstream", "own")]
            peer = str(pair["peer"])
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise FormError(f"line {number} is no pair: {error}") from error
        ends = (("client", "upstream"), ("upstream", "client"), ("rocketns", "client"))
        found += [
            Stream(f"{source} {peer}" if source == "client" else source, target, bytearray(frame), f"pair {number - 1}")
            for (source, target), frame in zip(ends, frames, strict=True) if frame
        ]  # fmt: skip
    return found
