"""What Python callers see of register_body.pyx."""

from collections.abc import Callable
from typing import TypeVar

Queues = TypeVar("Queues")

# (stateVersion, timestamp in epoch ms, counter); table key → queues; table key → topicName where that is another one;
# filter servers
Parsed = tuple[tuple[int, int, int], dict[str, Queues], dict[str, str], list[str]]

def parse_json(body: bytes | memoryview, queue_data: Callable[[int, int, int, int], Queues]) -> Parsed[Queues] | None:
    """A plain RegisterBrokerBody, or None: declined.

    ``queue_data`` makes one topic's queues of readQueueNums, writeQueueNums, perm and topicSysFlag (32 bits each). It
    is not called for every topic: equal numbers may share what an earlier call in the same body returned.
    """

def parse_compressed(
    inflated: bytes | memoryview, mappings: bool, queue_data: Callable[[int, int, int, int], Queues]
) -> Parsed[Queues] | None:
    """Likewise the blocks of a compressed one, inflated. ``mappings`` says whether their section must be there."""
