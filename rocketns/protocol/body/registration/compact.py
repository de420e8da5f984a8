"""RegisterBrokerBody as brokers write it: JSON without blanks and escapes, read by a compiled parser."""

from __future__ import annotations

from rocketns._fast.codec import register_body
from rocketns._fast.codec.register_body import KnownTopics
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.body.route import DataVersion, TopicTable, queue_data


def read_compact(
    data: bytes | bytearray | memoryview, compressed: bool, mappings: bool, known: KnownTopics | None = None
) -> RegisterBrokerBody | None:
    """The body in ``data``, which is inflated; None where the parser declines it, valid or not.

    ``compressed``: the body came as blocks, and ``mappings``: they end with a section of static topics. Topics that
    ``known`` knows unchanged are counted in `TopicTable.known` and left out of the table.
    """
    if compressed:
        parsed = register_body.parse_compressed(data, mappings, queue_data, known)
    else:
        parsed = register_body.parse_json(data, queue_data, known)
    if parsed is None:
        return None
    version, queues, renamed, filters, unchanged = parsed
    table = TopicTable(queues, renamed, unchanged)
    return RegisterBrokerBody(TopicConfigWrapper(DataVersion(*version), table), [*filters])
