"""Decodes the bodies of registrations: RegisterBrokerBody, which brokers from 3.0.11 on send plain or compressed.

Every fault is a BodyDecodeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.registration.blocks import decode_blocks
from rocketns.protocol.body.registration.compact import read_compact
from rocketns.protocol.body.registration.inflating import inflate
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody, decode_plain
from rocketns.protocol.body.registration.topic_config_wrapper import NO_VERSION, TopicConfigWrapper
from rocketns.protocol.codes import V5_0_0

Body = bytes | memoryview
Shortcut = Callable[[bytes | bytearray | memoryview, bool, bool], RegisterBrokerBody | None]

_ZLIB_MAGIC = b"\x78"


def decode_register_broker_body(
    body: Body | None, *, compressed: bool, version: int, now_ms: int, shortcut: Shortcut = read_compact
) -> RegisterBrokerBody:
    """The body's value. ``now_ms`` (epoch) stands in for the timestamp of a version without one.

    `decode_plain` and `decode_blocks` define the value. ``shortcut`` has the parameters of `read_compact` and is asked
    first: it returns the same value, or None to decline. The remark of an error is the class of result that Java gives.
    """
    if body is None:
        return RegisterBrokerBody(TopicConfigWrapper(NO_VERSION), [])
    mappings = version >= V5_0_0
    with _decode_errors():
        compressed = compressed or _is_deflated(body, version)
        data = inflate(body, mappings) if compressed else body
        read = shortcut(data, compressed, mappings)
        if read is not None:
            return read
        return decode_blocks(data, mappings, now_ms) if compressed else decode_plain(bytes(data), now_ms)


@contextmanager
def _decode_errors() -> Iterator[None]:
    try:
        yield
    except BodyDecodeError as error:
        raise refusal(error) from error


def refusal(error: BodyDecodeError) -> BodyDecodeError:
    """The error with Java's answer."""
    return BodyDecodeError(
        "org.apache.rocketmq.remoting.exception.RemotingCommandException: "
        f"Failed to decode RegisterBrokerBody, {error.remark}"
    )


def _is_deflated(body: Body, version: int) -> bool:
    """Whether a body that is marked as plain is a zlib stream, whose first byte begins no JSON.

    5.x brokers with compressedRegister=true send such bodies: they deflate the body, but their flag is always false.
    Java refuses them, so these brokers can never register with it.
    """
    return version >= V5_0_0 and body[:1] == _ZLIB_MAGIC
