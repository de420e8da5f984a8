"""How much one frame may hold. A frame beyond a bound is refused, so that no frame keeps control busy for long.

Frames that brokers and clients really send stay below all bounds, up to 16 MiB. docs/differences.md lists where Java
takes more.
"""

from __future__ import annotations

from dataclasses import dataclass

FRAME_SIZE_MAX_BYTES = 16_777_216
"""The largest whole frame, its length field included (Java: com.rocketmq.remoting.frameMaxLength)."""

NEED_MORE, MALFORMED = 0, -1
"""What `rocketns._fast.codec.wire.next_frame` returns instead of a size: more bytes are needed, or the connection is to
be closed."""

EXT_PAIRS_MAX = 65_536
"""Ext fields of a binary header."""

HEADER_VALUES_MAX = 65_536
"""Values in a JSON header. A list item counts once, a member twice."""

JSON_VALUES_MAX = 500_000
"""Values in all the JSON of one body, counted likewise. In registrations as brokers write them, only those of static
topics count."""

LENIENT_BYTES_MAX = 16 * 1024
"""Bytes of JSON in one header, or in one body, that only the lenient parser takes."""

NUMBER_CHARACTERS_MAX = 8192
"""Characters of a number in quotes."""

BLOCKS_MAX = 100_000
"""Topics of one registration. A plain one of 16 MiB has room for fewer, as brokers write them."""

CONVERTED_VALUES_MAX = 10_000
"""Topics of a plain registration that is not written as brokers write it, and queue ids of one static topic: Python
converts each of their values."""

FILTER_SERVERS_MAX = 10_000
"""Filter servers of a registration."""

QUEUE_DATAS_MAX = 10_000
"""Brokers that REGISTER_TOPIC_IN_NAMESRV (217) may name for a topic."""

BROKER_IDS_MAX = 1_000
"""Broker ids of one broker name. A group has up to ten brokers, and each of its routes lists all."""

TOPICS_LISTED_MAX = 1_000_000
"""Names in one list of topics: 206, 224, 304 and 311 to 313."""

UNIT_QUEUES_READ_MAX = 500_000
"""Queues of topics with a unit flag that one of the requests 311 to 313 reads: the routes of these topics."""

MAPPINGS_MAX = 10_000
"""Static topics of a registration."""

BLOCK_BYTES_MAX = 1024 * 1024
"""Bytes of one block of a compressed registration."""

INFLATED_BYTES_MAX = 32 * 1024 * 1024
"""Inflated bytes of a compressed registration: twice the largest plain body."""

INFLATED_RATIO_MAX = 256
"""Inflated bytes for each byte of a compressed registration. Topics of real fleets have 6 to 16; equal names with
running numbers up to 90; the most regular static topics 145."""

REPEATED_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of names as JSON, times how often one request makes tables, answers or records repeat them: of a registration
its cluster, broker name, address and zone, times its topics and static topics; of a request 217 its topic, times the
brokers that it names."""

# Shorter blocks cannot be topics or mappings; Java refuses them too.
TOPIC_LINE_BYTES_MIN = len(" 1 1 6 MULTI_TAG")
MAPPING_BYTES_MIN = len('{"topic":0}')


@dataclass(slots=True)
class Allowance:
    """The remaining allowance of one header or one body, shared by all JSON texts in it."""

    values: int = JSON_VALUES_MAX
    lenient_bytes: int = LENIENT_BYTES_MAX
