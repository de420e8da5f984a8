"""Registrations read by the definition alone: nothing is left to the compiled parser."""

from __future__ import annotations

from functools import partial

from rocketns.protocol.body.registration.decoding import decode_register_broker_body
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody


def declined(_data: bytes | bytearray | memoryview, _compressed: bool, _mappings: bool) -> RegisterBrokerBody | None:
    """A shortcut that reads no body."""
    return None


decode_by_definition = partial(decode_register_broker_body, shortcut=declined)
