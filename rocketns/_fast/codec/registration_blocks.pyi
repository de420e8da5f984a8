"""What Python callers see of registration_blocks.pyx."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from rocketns._fast.codec.register_body import KnownTopics

Queues = TypeVar("Queues")

class BlockLimits(Protocol):
    """Topics and mappings are counted; the others are bytes of one block."""

    @property
    def topics(self) -> int: ...
    @property
    def mappings(self) -> int: ...
    @property
    def block_bytes(self) -> int: ...
    @property
    def topic_bytes_min(self) -> int: ...
    @property
    def mapping_bytes_min(self) -> int: ...

def needs_more(data: bytes | bytearray | memoryview, mappings: bool, limits: BlockLimits) -> bool:
    """Whether the blocks go on behind ``data``; False where they are complete, and where they are refused.

    ``mappings`` says whether their section must be there.
    """

def read(
    data: bytes | bytearray | memoryview,
    mappings: bool,
    limits: BlockLimits,
    queue_data: Callable[[int, int, int, int], Queues],
    known: KnownTopics | None = None,
) -> tuple[bytes, dict[str, Queues], int, bytes, list[bytes]] | None:
    """The version's JSON, the topics' queues, how many unchanged topics were left out of these, the filter servers'
    JSON and each mapping's. ValueError: refused.

    None where ``known`` cannot be asked, since a topic comes twice or a name is not UTF-8: read without it.
    What follows the last block is not looked at. Of two topics with one name the later one counts.
    """
