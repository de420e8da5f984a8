"""What Python callers see of registration.pyx."""

from collections.abc import Callable
from typing import TypeVar

Queues = TypeVar("Queues")

# (stateVersion, timestamp in epoch ms, counter); table key → queues; table key → topicName where the two differ;
# filter servers; how many unchanged topics were left out of the queues; JSON of topicQueueMappingInfoMap if not empty
Parsed = tuple[tuple[int, int, int], dict[str, Queues], dict[str, str], list[str], int, bytes | None]

class RegisteredTopics:
    """Knows which topics of one registration are unchanged. This class knows none; compiled subclasses do.

    Each object serves one body: it notices topics that come twice.
    """

def parse_json(
    body: bytes | bytearray | memoryview,
    queue_data: Callable[[int, int, int, int], Queues],
    registered: RegisteredTopics | None = None,
) -> Parsed[Queues] | None:
    """Parses a plain RegisterBrokerBody. None: declined.

    ``queue_data`` makes one topic's queues of readQueueNums, writeQueueNums, perm and topicSysFlag (32 bits each). It
    is not called for every topic: topics of one body with equal numbers may share one result. Topics that are
    ``registered`` unchanged are counted, not returned.
    """

def needs_more(data: bytes | bytearray | memoryview, mappings: bool) -> bool:
    """Whether the blocks go on behind ``data``; False where they are complete, and where they are refused.

    ``mappings`` says whether their section must be there.
    """

def read_blocks(
    data: bytes | bytearray | memoryview,
    mappings: bool,
    queue_data: Callable[[int, int, int, int], Queues],
    registered: RegisteredTopics | None = None,
) -> tuple[bytes, dict[str, Queues], int, bytes, list[bytes]] | None:
    """The version's JSON, the topics' queues, how many unchanged topics were left out of these, the filter servers'
    JSON and each mapping's. ValueError: refused.

    None where ``registered`` cannot be asked, since a topic comes twice or a name is not UTF-8: read without it.
    What follows the last block is not looked at. Of two topics with one name the later one counts.
    """
