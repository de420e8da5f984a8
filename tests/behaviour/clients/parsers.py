"""How clients with parsers of their own read answers: the rule of each, rewritten in a few lines, and its source.

A reader raises where the client would fail, and returns what the client then works with.
"""

from __future__ import annotations

import ast
import json
import re
import struct
from typing import Any

LENGTH = struct.Struct(">i")


class Unreadable(Exception):
    """The client would crash, drop the frame, or wait for ever."""


def erlang(read: bytes) -> tuple[dict[str, Any], Any, bytes]:
    """EMQX: header, body and rest of what one read gave (emqx/rocketmq-client-erl, rocketmq_protocol_frame:parse/1).

    A read that ends behind the header counts as an answer without a body; one that ends in the body is a crash.
    """
    if len(read) < 8:
        raise Unreadable("kept for the next read")
    length, header_length = struct.unpack_from(">II", read)
    end = 8 + header_length
    if end > len(read):
        raise Unreadable("kept for the next read")
    header, rest = json.loads(read[8:end]), read[end:]
    body_length = length - 4 - header_length
    if not rest or not body_length:
        return header, None, rest
    if body_length > len(rest):
        raise Unreadable("badmatch: the process of the client crashes")
    # jsone with allow_int_key takes standard JSON for such peers.
    return header, json.loads(rest[:body_length]), rest[body_length:]


ELIXIR_ADDRS = re.compile(rb'"brokerAddrs":{(\d+:"[^"]+",*)+}')


def elixir(frame: bytes) -> Any:
    """ex_rocketmq: the body of a frame (tt67wq/ex_rocketmq, Namesrvs.fix_invalid_json/1).

    Only the first group of addresses that it finds gets quoted keys; without any it raises.
    """
    (header_length,) = LENGTH.unpack_from(frame, 4)
    json.loads(frame[8 : 8 + header_length])
    body = frame[8 + header_length :]
    found = ELIXIR_ADDRS.search(body)
    if found is None:
        raise Unreadable("CaseClauseError: nil")
    inner = found[0][15:-1]
    pairs = [item.split(b":", 1) for item in inner.split(b",")]
    fixed = b",".join(b'"' + index + b'":' + addr for index, addr in pairs)
    return _json(body.replace(found[0], b'"brokerAddrs":{' + fixed + b"}"))


def python(frame: bytes) -> Any:
    """pyrocketmq: the body of a frame (tt67wq/pyrocketmq, nameserver_models.py): a literal of Python.

    A JSON ``false`` is none, so it reads no answer with a boolean: none of Java's 5.x.
    """
    (header_length,) = LENGTH.unpack_from(frame, 4)
    header = json.loads(frame[8 : 8 + header_length])
    if not isinstance(header["code"], int) or not isinstance(header.get("extFields", {}), dict):
        raise Unreadable("ValueError")
    try:
        return ast.literal_eval(frame[8 + header_length :].decode())
    except ValueError as error:
        raise Unreadable(f"Invalid TopicRouteData format: {error}") from error


def new_life(frame: bytes) -> tuple[dict[str, Any], bytes]:
    """NewLife.RocketMQ: header and body (NewLifeX/NewLife.RocketMQ, Protocol/Command.cs): larger frames are dropped."""
    length, word = struct.unpack_from(">iI", frame)
    header_length = word & 0xFFFFFF
    if not 4 <= length <= 4 * 1024 * 1024 or not 0 < header_length <= 8 * 1024:
        raise Unreadable("the frame is dropped, and its request times out")
    return json.loads(frame[8 : 8 + header_length]), frame[8 + header_length :]


def lua(body: bytes) -> Any:
    """lua-resty-rocketmq: JSON without blanks, whose keys may be numbers (yuz10/lua-resty-rocketmq, json.lua)."""
    if re.sub(rb'"(?:[^"\\]|\\.)*"', b'""', body).translate(None, b" \t\r\n") != re.sub(
        rb'"(?:[^"\\]|\\.)*"', b'""', body
    ):
        raise Unreadable("invalid token")
    return json.loads(re.sub(rb"([{,])(-?\d+):", rb'\1"\2":', body))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise Unreadable(f"Jason.DecodeError: {error}") from error
