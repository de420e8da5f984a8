"""Cuts streams into frames by the declared layouts, and says at which byte they stop making sense."""

from __future__ import annotations

import contextlib
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from construct import ConstructError

from rocketns.errors import BodyDecodeError
from rocketns.languages import texts
from rocketns.protocol import spec
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import RequestCode, SerializeType, language_name
from rocketns.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE
from rocketns.protocol.json import fastjson
from rocketns.tools.decode.reading import Stream

_ = texts("help")
HEAD_BYTES = 8
START_BYTES = 64  # of a stream, which tell another protocol
FRAMES_MAX = 100_000
PROXY_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
# A text, which stays as it is, or a key without quotes.
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|([A-Za-z_$][\w$]*|-?[0-9]+)(?=\s*:)')


@dataclass(slots=True)
class DecodedFrame:
    """``at`` is where it begins in its stream, ``size`` its bytes there. ``header`` has the members of a JSON header's
    names, whatever its form. ``form``: JSON or ROCKETMQ. ``faults``: byte of the stream, and what is wrong there.
    ``answers``: the request that it answers; ``number`` counts from 1 on.
    """

    stream: Stream
    at: int
    size: int
    number: int = 0
    form: str = ""
    header: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""
    faults: list[tuple[int, str]] = field(default_factory=list)
    answers: DecodedFrame | None = None

    @property
    def is_response(self) -> bool:
        return bool(self._number("flag") & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        return bool(self._number("flag") & FLAG_ONEWAY)

    @property
    def code(self) -> int:
        return self._number("code")

    @property
    def request_code(self) -> int | None:
        """Of the request, or of the one that this answers; None: that is not known."""
        if self.is_response:
            return None if self.answers is None else self.answers.code
        return self.code

    @property
    def fields(self) -> dict[str, Any]:
        found = self.header.get("extFields")
        return found if isinstance(found, dict) else {}

    def _number(self, name: str) -> int:
        try:
            return fastjson.as_int(self.header.get(name))
        except BodyDecodeError:
            return 0


def frames(streams: Sequence[Stream]) -> list[DecodedFrame]:
    """All frames, in the order of their times where they have any. Answers are paired by opaque."""
    found = list(islice((frame for stream in streams for frame in _of_stream(stream)), FRAMES_MAX))
    if all(stream.times for stream in streams):
        found.sort(key=lambda one: one.stream.time_at(one.at) or 0.0)
    asked: dict[tuple[str, Any], DecodedFrame] = {}
    for number, one in enumerate(found, 1):
        one.number = number
        key = one.stream.conversation, str(one.header.get("opaque"))
        if one.is_response:
            one.answers = asked.get(key)
        elif one.header:
            asked[key] = one
    return found


def _of_stream(stream: Stream) -> Iterator[DecodedFrame]:
    data, at = bytes(stream.data), 0
    if data.startswith(PROXY_SIGNATURE) and len(data) >= 16:
        at = 16 + int(spec.PROXY_V2_HEAD.parse(data[:16]).length)
    elif data.startswith(b"PROXY ") and b"\r\n" in data[:108]:
        at = data.index(b"\r\n") + 2
    while at < len(data):
        frame = _frame(stream, data, at)
        yield frame
        at += frame.size
    if stream.gap:
        yield DecodedFrame(stream, len(data), 0, faults=[(len(data), stream.gap)])


def _frame(stream: Stream, data: bytes, at: int) -> DecodedFrame:
    """One frame; of what is none, all that is left."""
    left, start = len(data) - at, data[at : at + START_BYTES]
    frame = DecodedFrame(stream, at, left)
    if not at and (other := other_protocol(start)):
        frame.faults.append((at, _("this is %(protocol)s, and no frame of RocketMQ") % {"protocol": other}))
        return frame
    if left < HEAD_BYTES:
        frame.faults.append((len(data), _("the data ends within the first 8 bytes of a frame")))
        return frame
    try:
        head = spec.FRAME_HEAD.parse(start[:HEAD_BYTES])
    except ConstructError:
        text = _("the form of a header is 0 (JSON) or 1 (ROCKETMQ), and not %(n)d") % {"n": start[4]}
        frame.faults.append((at + 4, text))
        return frame
    if not HEAD_BYTES - 4 <= head.length <= FRAME_SIZE_MAX_BYTES:
        text = _("a frame of %(n)d bytes: a length is from 4 to %(most)d") % {
            "n": head.length,
            "most": FRAME_SIZE_MAX_BYTES,
        }
        frame.faults.append((at, text))
        return frame
    if not 0 < head.header_length <= head.length - 4:
        frame.faults.append((at + 5, _("a header of %(n)d bytes in a frame of %(length)d") % {
            "n": head.header_length, "length": head.length}))  # fmt: skip
        return frame
    frame.size = min(left, 4 + head.length)
    _read_header(frame, data[at : at + frame.size], head)
    if left < 4 + head.length:
        text = _("the data ends here, %(n)d bytes before the end of the frame") % {"n": 4 + head.length - left}
        frame.faults.append((len(data), text))
    return frame


def other_protocol(first: bytes) -> str:
    """The name of what else begins like this; empty: nothing that is known."""
    if first[:1] in (b"\x14", b"\x15", b"\x16", b"\x17") and first[1:2] == b"\x03":
        return "TLS"
    if first.startswith(b"PRI * HTTP/2") or (first[3:5] == b"\x04\x00" and first[5:9] == bytes(4)[: len(first[5:9])]
                                             and len(first) >= HEAD_BYTES and first[0] == 0):  # fmt: skip
        return "HTTP/2 (gRPC)"
    return "HTTP" if re.match(rb"HTTP/1|(?:GET|POST|PUT|HEAD|OPTIONS) ", first) else ""


def _read_header(frame: DecodedFrame, whole: bytes, head: Any) -> None:
    start, end = HEAD_BYTES, HEAD_BYTES + head.header_length
    if end > len(whole):
        return
    frame.form, frame.body = SerializeType(head.serialize_type).name, whole[end:]
    if head.serialize_type == SerializeType.ROCKETMQ:
        _read_binary(frame, whole, head.header_length)
        return
    try:
        value = read_json(whole[start:end])
        if not isinstance(value, dict):
            raise ValueError("a header is an object")
        frame.header = value
    except (ValueError, RecursionError) as error:
        place, why = (error.pos, error.msg) if isinstance(error, json.JSONDecodeError) else (0, str(error))
        frame.faults.append((frame.at + start + place, _("the header is no JSON: %(why)s") % {"why": why}))


def _read_binary(frame: DecodedFrame, whole: bytes, length: int) -> None:
    """Java reads the fields beyond the header's length, and takes that length for the body's."""
    source = io.BytesIO(whole[HEAD_BYTES:])
    try:
        found = spec.BINARY_HEADER.parse_stream(source, header_length=length)
    except (ConstructError, OverflowError) as error:
        text = _("the fields of the binary header do not add up: %(why)s") % {"why": str(error).splitlines()[-1]}
        frame.faults.append((frame.at + HEAD_BYTES + source.tell(), text))
        return
    if found.end != length:
        text = _("the fields of the header have %(n)d bytes, and its length says %(length)d") % {
            "n": found.end, "length": length}  # fmt: skip
        frame.faults.append((frame.at + HEAD_BYTES + min(found.end, length), text))
    fields = {_utf8(one.key): _utf8(one.value) for one in found.ext or ()}
    frame.header = {
        "code": found.code, "language": language_name(found.language) or found.language, "version": found.version,
        "opaque": found.opaque, "flag": found.flag, **({"remark": _utf8(found.remark)} if found.remark else {}),
        **({"extFields": fields} if fields else {}),
    }  # fmt: skip


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def read_json(data: bytes) -> Any:
    """Also as fastjson writes it, with keys that have no quotes. JSONDecodeError, whose ``pos`` counts bytes."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        return json.loads(_KEY.sub(lambda found: f'"{found[1]}"' if found[1] else found[0], text), strict=False)
    except json.JSONDecodeError as error:
        keys = (found for found in _KEY.finditer(text) if found[1])
        ends = (found.end() + 2 * before for before, found in enumerate(keys, 1))  # where each ends with quotes
        place = error.pos - 2 * sum(end <= error.pos for end in ends)
        error.pos = len(text[:place].encode("utf-8", "surrogateescape"))
        raise


@dataclass(frozen=True, slots=True)
class Body:
    """A body as it can be read. ``kind``: none, JSON, text, registration, or bytes. ``inflated``: its size, if it was
    compressed."""

    kind: str
    value: Any
    inflated: int | None = None


def body_of(frame: DecodedFrame) -> Body:
    """What the body of a frame is."""
    data, inflated = frame.body, None
    if not data:
        return Body("none", None)
    if data[:2] in _ZLIB and (plain := _inflated(data)) is not None:
        data, inflated = plain, len(plain)
    if inflated is not None and frame.request_code == RequestCode.REGISTER_BROKER:
        for mappings in (True, False):
            try:
                found = spec.COMPRESSED_REGISTRATION.parse(data, mappings=mappings)
            except ConstructError:
                continue
            return Body("registration", {
                "dataVersion": read_json(found.data_version.data),
                "topics": [_utf8(one) for one in found.topics.blocks],
                "filterServers": read_json(found.filter_servers.data),
                "mappings": [_utf8(one) for one in (found.mappings.blocks if found.mappings else ())],
            }, inflated)  # fmt: skip
    if data[:1] in (b"{", b"["):
        with contextlib.suppress(ValueError, RecursionError):
            return Body("JSON", read_json(data), inflated)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Body("bytes", data, inflated)
    return Body("bytes", data, inflated) if _CONTROL.search(text) else Body("text", text, inflated)


def _inflated(data: bytes) -> bytes | None:
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data, FRAME_SIZE_MAX_BYTES)
    except zlib.error:
        return None
    return plain if inflater.eof else None
