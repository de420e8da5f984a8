"""The head of an HTTP request, its request line and header fields: what is passed on, and what is refused.

No request of these ports has a body, so one that announces a body is refused by its head. aiohttp parses the heads that
pass. It must find no mistake in them: its errors are kept, with the bytes, until the garbage collector runs.
"""

from __future__ import annotations

import re
from http import HTTPStatus

HEAD_BYTES_MAX = 16 * 1024
FIELDS_MAX = 64
END = b"\r\n\r\n"
METHOD_BEGINS = b"GHPDO"
TARGET = rb"/[!-~]*"
FIELD = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++:[\t -~\x80-\xff]*+\r\n"
HEAD = re.compile(rb"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) %b HTTP/1\.([01])\r\n((?:%b)*+)\r\n" % (TARGET, FIELD))
HOST = b"host"
LENGTH = b"content-length"
NO_LENGTH = b"0"  # `curl -X POST -d ''` sends it
# aiohttp refuses a second one of these, and the last in any case.
ONCE = frozenset((
    HOST, LENGTH, b"content-location", b"content-range", b"content-type", b"etag", b"max-forwards", b"server",
    b"user-agent",
))  # fmt: skip
NEVER = frozenset((b"sec-websocket-key1",))
# An Expect would be answered before the request is.
BODY = frozenset((b"transfer-encoding", b"expect"))

TEXTS = {
    HTTPStatus.BAD_REQUEST: "this port cannot read the request",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "no request of this port has a body",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: f"a request has at most {HEAD_BYTES_MAX} bytes and {FIELDS_MAX} fields",
}


def refusal(head: bytes) -> HTTPStatus | None:
    """Why these bytes, which end with END, are refused; None for a request without a body."""
    match = HEAD.fullmatch(head)
    if match is None:
        return HTTPStatus.BAD_REQUEST
    fields = [line.partition(b":") for line in match[2].splitlines()]
    if len(fields) > FIELDS_MAX:
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    names = [name.lower() for name, _, _ in fields]
    if not BODY.isdisjoint(names) or any(name.lower() == LENGTH and value.strip() != NO_LENGTH
                                         for name, _, value in fields):  # fmt: skip
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    lacks_host = match[1] == b"1" and HOST not in names
    if lacks_host or not NEVER.isdisjoint(names) or any(names.count(name) > 1 for name in ONCE):
        return HTTPStatus.BAD_REQUEST
    return None


def is_other_protocol(begun: bytes) -> bool:
    """Whether these bytes cannot become a head, such as a TLS handshake or a frame of RocketMQ."""
    return begun[:1] not in METHOD_BEGINS


def refused(status: HTTPStatus, text: str = "", fields: bytes = b"") -> bytes:
    """The answer, after which the connection is closed. ``fields``: further header fields, each with its line end."""
    body = f"{text or TEXTS[status]}\n".encode()
    return (b"HTTP/1.1 %d %b\r\nServer: rocketns\r\nCache-Control: no-store\r\nConnection: close\r\n%b"
            b"Content-Type: text/plain\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %d\r\n\r\n%b"
            % (status, status.phrase.encode(), fields, len(body), body))  # fmt: skip
