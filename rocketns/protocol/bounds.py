"""What one frame may hold at the most, so that no frame keeps control busy for long. Beyond a bound it is refused.

A frame of 16 MiB that a broker or a client really sends stays below all of them. docs/differences.md says where Java
takes more.
"""

from __future__ import annotations

from dataclasses import dataclass

EXT_PAIRS_MAX = 65_536
"""Ext fields of a binary header."""

HEADER_VALUES_MAX = 65_536
"""Values in a JSON header, where a list item counts once and a member twice."""

JSON_VALUES_MAX = 500_000
"""Values in all the JSON of one body, counted likewise. Bodies as brokers write them are read without a count."""

LENIENT_HEADER_BYTES_MAX = 16 * 1024
LENIENT_BYTES_MAX = 64 * 1024
"""Bytes of JSON in one header, or in one body, that only the lenient parser takes."""

NUMBER_CHARACTERS_MAX = 8192
"""Characters of a number in quotes."""

BLOCKS_MAX = 100_000
"""Topics of one registration. As brokers write them, fewer fit into a plain one of 16 MiB."""

ODD_VALUES_MAX = 10_000
"""Topics of one table, and entries of one map of queue ids, that hold something other than plain numbers."""

FILTER_SERVERS_MAX = 10_000
"""Filter servers of a registration."""

QUEUE_DATAS_MAX = 10_000
"""Brokers that request 217 names for a topic."""

MAPPINGS_MAX = 10_000
"""Static topics of a registration."""

BLOCK_BYTES_MAX = 1024 * 1024
"""Bytes of one block of a compressed registration."""

INFLATED_BYTES_MAX = 32 * 1024 * 1024
"""Inflated bytes of a compressed registration: twice the largest plain body."""

# What is shorter cannot be a topic or a mapping, and Java would refuse it too.
TOPIC_LINE_BYTES_MIN = len(" 1 1 6 MULTI_TAG")
MAPPING_BYTES_MIN = len('{"topic":0}')


@dataclass(slots=True, frozen=True)
class BlockLimits:
    """`rocketns._fast.codec.registration_blocks.BlockLimits`."""

    topics: int = BLOCKS_MAX
    mappings: int = MAPPINGS_MAX
    block_bytes: int = BLOCK_BYTES_MAX
    topic_bytes_min: int = TOPIC_LINE_BYTES_MIN
    mapping_bytes_min: int = MAPPING_BYTES_MIN


@dataclass(slots=True)
class Allowance:
    """The remaining allowance of one header or one body, shared by all JSON texts in it."""

    values: int = JSON_VALUES_MAX
    lenient_bytes: int = LENIENT_BYTES_MAX

    @classmethod
    def of_header(cls) -> Allowance:
        return cls(HEADER_VALUES_MAX, LENIENT_HEADER_BYTES_MAX)
