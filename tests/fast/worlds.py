"""A name server without sockets whose slots follow its tables, and the reference's answers to lookups."""

from __future__ import annotations

from pathlib import Path

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from rocketns._fast.codec import wire
from rocketns.errors import MalformedFrame
from rocketns.processor import dispatch
from rocketns.protocol import command
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_reply
from rocketns.routeinfo.unregistration import unregister_brokers
from rocketns.server.publishing.publisher import Publisher
from tests.processor.asking import World

FRAME_BYTES_MAX = 16 * 1024 * 1024
CLOSES = b"closes"


class PublishedWorld(World):
    """A name server's state. Every change is published before its request is answered, as in control."""

    def __init__(self, home: Path, properties: str = "") -> None:
        super().__init__(home, properties)
        self.publisher = Publisher(self.context.tables)
        self.slots = self.publisher.slots

    def publish(self) -> None:
        """Process a request, then publish its change."""
        tables = self.context.tables
        self.context.note(unregister_brokers(tables, self.context.unregister_queue.take_all(), self.now.ms))
        self.publisher.publish(self.context.take_events())

    def reference(self, frame: bytes, serialize_type: SerializeType = SerializeType.JSON) -> bytes | None:
        """The whole answer to a frame; `CLOSES`, or None where there is none."""
        if wire.next_frame(frame, 0, FRAME_BYTES_MAX) != len(frame):
            return CLOSES
        try:
            request = command.decode(frame)
        except MalformedFrame:
            return CLOSES
        if request.is_response or request.is_oneway:
            return None
        reply = dispatch.process(self.context, request, self.peer, self.now)
        return encode_reply(reply, request.opaque, serialize_type, self.context.release.version)


def populated(home: Path, properties: str = "") -> PublishedWorld:
    """Topics on one broker, on two, on a broker of another cluster, static ones, and ones with filter servers."""
    world = PublishedWorld(home, properties)

    def register(topics: list[str], broker: str, addr: str, **more: object) -> None:
        filters, mapping = more.pop("filters", ()), more.pop("mapping", None)
        configs = [topic_config(name, perm=4 + 2 * (len(name) % 2)) for name in topics]
        body = register_body(configs, data_version(), filters=filters, mapping=mapping)  # type: ignore[arg-type]
        world.ask(103, register_ext(broker=broker, addr=addr, body=body, **more), body)

    register(["T1", "T2", "%RETRY%g", "rmq_sys_SYNC_BROKER_MEMBER_ba"], "ba", "10.0.0.1:10911")
    register(["T1", "T2", "Ü"], "bb", "10.0.0.2:10911", cluster="C2", __ZONE_NAME="z1", enableActingMaster="true")
    register(["T1", "T2"], "bb", "10.0.0.3:10911", cluster="C2", broker_id=2, enableActingMaster="true")
    register(["static", "x"], "bc", "10.0.0.4:10911", mapping={"static": {"topic": "static", "bname": "bc"}})
    register(["filtered", "x"], "bd", "10.0.0.5:10911", filters=["10.0.0.5:99"])
    world.publish()
    return world
