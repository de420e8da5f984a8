"""RemotingCommand: one frame as a value, decoded from bytes; `encoding` writes the bytes.

Sources: RemotingCommand.decode, RocketMQSerializable, LanguageCode of RocketMQ 5.5.0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rocketns._fast.codec.wire import next_frame as next_frame
from rocketns._fast.codec.wire import read_binary_header
from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.errors import BodyDecodeError, MalformedFrame
from rocketns.protocol.body.decoding import java_errors
from rocketns.protocol.bounds import EXT_PAIRS_MAX, HEADER_VALUES_MAX, Allowance
from rocketns.protocol.codes import LanguageCode, SerializeType, language_name
from rocketns.protocol.json import fastjson
from rocketns.protocol.json.lenient import NumberText
from rocketns.protocol.names import check_name, is_too_long

HEAD_BYTES = 8  # total length, then one word of serialize type and header length
_HEADER_LENGTH_BITS = 24

FLAG_RESPONSE = 1 << 0
FLAG_ONEWAY = 1 << 1

# RemotingCommand.requestId: for the server's own requests, and for headers without `opaque`.
_request_ids = itertools.count()


def next_request_id() -> int:
    """RemotingCommand.createNewRequestId; wraps around as a Java int."""
    return next(_request_ids) & 0x7FFFFFFF


@dataclass(slots=True)
class RemotingCommand:
    """A request as received. ``ext_fields`` is None where the request has no map; ``body`` is None where it is empty.

    ``data`` is the body as part of the frame: a body of megabytes is not copied. ``name_bytes_max`` is the bound of
    the names in it, in bytes.
    """

    code: int
    version: int
    opaque: int
    flag: int
    ext_fields: dict[str, str | None] | None
    data: bytes | memoryview | None
    language: str | None = "JAVA"
    name_bytes_max: int = field(default=NAME_BYTES_MAX, compare=False, repr=False)

    @property
    def body(self) -> bytes | None:
        return None if self.data is None else bytes(self.data)

    @property
    def is_response(self) -> bool:
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & FLAG_ONEWAY)

    def ext(self, name: str) -> str | None:
        """One ext field of any length; None if it or the whole map is missing."""
        return None if self.ext_fields is None else self.ext_fields.get(name)

    def name(self, field_name: str) -> str | None:
        """One ext field that is a name, as `ext`. NameTooLong beyond the bound."""
        text = None if self.ext_fields is None else self.ext_fields.get(field_name)
        if text is not None and is_too_long(text, self.name_bytes_max):
            with java_errors():
                check_name(text, self.name_bytes_max, field_name)
        return text


@dataclass(slots=True)
class Reply:
    """What a processor answers. ``ext_fields`` None leaves the key out; ``{}`` writes it (Java made a header).

    ``after``, if given, delays the answer. It is called once with a callback. The callback sends the answer if it gets
    None, or a SYSTEM_ERROR with the remark that it gets.
    """

    code: int = 0
    remark: str | None = None
    ext_fields: dict[str, str | None] | None = None
    body: bytes | None = None
    after: Callable[[Callable[[str | None], None]], None] | None = field(default=None, compare=False, repr=False)


def decode(frame: bytes | memoryview, name_bytes_max: int = NAME_BYTES_MAX) -> RemotingCommand:
    """Decodes a whole frame, length field included; `next_frame` finds its size. MalformedFrame where Java closes."""
    if len(frame) < HEAD_BYTES:
        raise MalformedFrame("the frame is shorter than its head")
    word = int.from_bytes(frame[4:HEAD_BYTES], "big")
    header_length = word & (1 << _HEADER_LENGTH_BITS) - 1
    if HEAD_BYTES + header_length > len(frame):
        raise MalformedFrame("the header is longer than the frame")
    match word >> _HEADER_LENGTH_BITS:
        case SerializeType.JSON:
            command = _decode_json(frame, HEAD_BYTES + header_length)
        case SerializeType.ROCKETMQ:
            command = _decode_binary(frame, header_length)
        case unknown:
            raise MalformedFrame(f"unknown serialize type {unknown}")
    command.name_bytes_max = name_bytes_max
    return command


def _decode_json(frame: bytes | memoryview, body_start: int) -> RemotingCommand:
    header, allowance = bytes(frame[HEAD_BYTES:body_start]), Allowance(HEADER_VALUES_MAX)
    try:
        command = fastjson.read(header, _command_of, numeric_keys=False, allowance=allowance)
    except BodyDecodeError as error:
        raise MalformedFrame(f"JSON header: {error}") from error
    command.data = frame[body_start:] if body_start < len(frame) else None
    return command


def _decode_binary(frame: bytes | memoryview, header_length: int) -> RemotingCommand:
    try:
        code, language, version, opaque, flag, ext, end = read_binary_header(
            frame, HEAD_BYTES, header_length, EXT_PAIRS_MAX
        )
    except ValueError as error:
        raise MalformedFrame(f"binary header: {error}") from error
    body_length = len(frame) - HEAD_BYTES - header_length
    if len(frame) - end < body_length:
        raise MalformedFrame("the header's fields reach into the body")
    # Java takes the body's length from the header's length, but its start from the end of the fields.
    body = frame[end : end + body_length] if body_length else None
    return RemotingCommand(code, version, opaque, flag, ext, body, language_name(language))


def _command_of(value: Any) -> RemotingCommand:
    fields = fastjson.as_object(value)
    if fields is None:
        raise MalformedFrame("the header is null")
    ext = fastjson.as_object(fields.get("extFields"))
    ext_texts = None if ext is None else {key: fastjson.exact_text(item) for key, item in ext.items()}
    _check_enum(fields.get("serializeTypeCurrentRPC"), len(SerializeType))
    if "body" in fields:
        _check_body(fields["body"])
    if "suspended" in fields:
        _check_suspended(fields["suspended"])
    return RemotingCommand(
        code=fastjson.as_int(fields.get("code")),
        version=fastjson.as_int(fields.get("version")),
        opaque=fastjson.as_int(fields["opaque"]) if "opaque" in fields else next_request_id(),
        flag=fastjson.as_int(fields.get("flag")),
        ext_fields=ext_texts,
        data=None,
        language=_check_enum(fields.get("language", "JAVA"), len(LanguageCode)),
    )


def _check_body(value: Any) -> None:
    """Java's class has a member ``body`` of bytes, without use here. fastjson2 wants a list of numbers for it."""
    if isinstance(value, list):
        for item in value:
            fastjson.as_int(item)
    elif value is not None and value != "":
        raise BodyDecodeError("the member body is not a list of numbers")


def _check_suspended(value: Any) -> None:
    """A boolean without use, which fastjson2 checks; a list of one boolean is taken too."""
    fastjson.as_bool(value[0] if isinstance(value, list) and len(value) == 1 else value)


def _check_enum(value: Any, ordinals: int) -> str | None:
    """JSONReader's rule for enums: any text is taken, a number must be an ordinal, anything else is refused."""
    if value is None:
        return None
    if isinstance(value, str) and not isinstance(value, NumberText):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BodyDecodeError("an enum must be text or an ordinal")
    ordinal = fastjson.as_int(value)
    if not 0 <= ordinal < ordinals:
        raise BodyDecodeError(f"unknown enum ordinal {ordinal}")
    return LanguageCode(ordinal).name
