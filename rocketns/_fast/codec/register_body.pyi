"""What Python callers see of register_body.pyx."""

from collections.abc import Callable
from typing import TypeVar

Queues = TypeVar("Queues")

# (stateVersion, timestamp in epoch ms, counter); table key → queues; table key → topicName where the two differ;
# filter servers; how many unchanged topics were left out of the queues; JSON of topicQueueMappingInfoMap if not empty
Parsed = tuple[tuple[int, int, int], dict[str, Queues], dict[str, str], list[str], int, bytes | None]

class KnownTopics:
    """Knows which topics of one registration are unchanged. This class knows none; compiled subclasses do.

    Each object serves one body: it notices topics that come twice.
    """

def parse_json(
    body: bytes | bytearray | memoryview,
    queue_data: Callable[[int, int, int, int], Queues],
    known: KnownTopics | None = None,
) -> Parsed[Queues] | None:
    """Parses a plain RegisterBrokerBody. None: declined.

    ``queue_data`` makes one topic's queues of readQueueNums, writeQueueNums, perm and topicSysFlag (32 bits each). It
    is not called for every topic: topics of one body with equal numbers may share one result. Topics that ``known``
    knows unchanged are counted, not returned.
    """
