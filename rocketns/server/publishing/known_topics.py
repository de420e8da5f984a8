"""Decodes registrations without the topics that the route slots already hold unchanged."""

from __future__ import annotations

from functools import partial

from rocketns._fast.routes.known_topics import PublishedTopics
from rocketns._fast.routes.routes import RouteSlots
from rocketns.protocol.body.registration.compact import read_compact
from rocketns.protocol.body.registration.decoding import Body, decode_register_broker_body
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody


class KnownTopics:
    """What `processor.context.KnownTopics` asks for, from the slots: a broker's topics hardly change."""

    def __init__(self, slots: RouteSlots) -> None:
        self._slots = slots

    def decode(
        self, broker_name: str, body: Body | None, *, compressed: bool, version: int, now_ms: int
    ) -> RegisterBrokerBody:
        shortcut = partial(read_compact, known=PublishedTopics(self._slots, broker_name))
        return decode_register_broker_body(
            body, compressed=compressed, version=version, now_ms=now_ms, shortcut=shortcut
        )
