"""Frames from requests: names numbered, bodies written as the sending version writes them, checksums computed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from interop.harness.payloads import compressed_body, dumps, register_body, wrapper
from interop.harness.wire import JSON, LANGUAGE_CODES, ROCKETMQ, binary_header, frame, json_header
from interop.parity.language import NAME, PORTS, Deflated, Form, RegisterBody, Request

# The value of a header field that stands for the checksum of the body as it is sent.
CRC = "the checksum of the body"
FIRST_WITH_BODY, FIRST_WITH_MAPPINGS = 37, 413
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def name_of(number: int) -> str:
    """Three characters: what NAME becomes in the ``number``-th play."""
    rest, last = divmod(number, len(DIGITS))
    first, middle = divmod(rest, len(DIGITS))
    return DIGITS[first % len(DIGITS)] + DIGITS[middle] + DIGITS[last]


@dataclass(frozen=True)
class Writer:
    """Writes the frames of one play: in one form, with one number and with the listeners' ports."""

    form: Form
    number: int
    ports: tuple[int, ...] = field(default=())

    def fill(self, data: bytes) -> bytes:
        """Names and ports put in; the length stays."""
        data = data.replace(NAME.encode(), name_of(self.number).encode())
        for place, port in zip(PORTS, self.ports, strict=False):
            data = data.replace(place.encode(), str(port).encode())
        return data

    def fill_text(self, text: str) -> str:
        return self.fill(text.encode()).decode()

    def frame(self, what: Request | bytes, opaque: int) -> bytes:
        """The frame of a request; bytes are frames already. ``opaque`` is for requests that name none."""
        if isinstance(what, bytes):
            return self.fill(what)
        form = what.form or self.form
        body = self._body(what, form)
        ext = self.ext(what, body)
        opaque = opaque if what.opaque is None else what.opaque
        if form.binary:
            language = LANGUAGE_CODES[what.language]
            header = binary_header(
                what.code, ext, version=form.version, flag=what.flag, opaque=opaque, language=language
            )
            return frame(header, body, ROCKETMQ)
        header = json_header(
            what.code, ext, version=form.version, flag=what.flag, opaque=opaque, language=what.language
        )
        return frame(header, body, JSON)

    def ext(self, what: Request, body: bytes = b"") -> dict[str, str] | None:
        """The header fields as they are sent."""
        if what.ext is None:
            return None
        filled = {key: self.fill_text(str(value)) for key, value in what.ext.items() if value is not None}
        return {key: str(zlib.crc32(body) & 0x7FFFFFFF) if value == CRC else value for key, value in filled.items()}

    def _body(self, what: Request, form: Form) -> bytes:
        if isinstance(what.body, RegisterBody):
            return self._registration(what.body, form)
        if isinstance(what.body, Deflated):
            return zlib.compress(self.fill(_made(what.body.inner)), what.body.level)
        return self.fill(_made(what.body))

    def _registration(self, body: RegisterBody, form: Form) -> bytes:
        topics, mapping = self._filled(list(body.topics)), self._filled(body.mapping)
        version = dict(body.version)
        if 0 <= form.version < FIRST_WITH_BODY:
            return dumps(wrapper(topics, version, mapping))
        if body.deflated:
            with_mappings = form.version >= FIRST_WITH_MAPPINGS
            mappings = list((mapping or {}).values()) if with_mappings else None
            return compressed_body(topics, version, filters=body.filters or (), mapping=mappings)
        filters = None if body.filters is None else list(body.filters)
        return self.fill(register_body(topics, version, filters=filters, mapping=mapping))

    def _filled(self, value: Any) -> Any:
        return json.loads(self.fill(dumps(value)))


def _made(body: bytes | Callable[[], bytes]) -> bytes:
    return body if isinstance(body, bytes) else body()
