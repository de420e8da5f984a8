"""What Python callers see of register_body.pyx."""

from collections.abc import Callable
from typing import TypeVar

from rocketns._fast.routes.routes import RouteSlots

Queues = TypeVar("Queues")

# (stateVersion, timestamp in epoch ms, counter); table key → queues; table key → topicName where that is another one;
# filter servers; how many topics were left out of the queues because the slots hold them just so
Parsed = tuple[tuple[int, int, int], dict[str, Queues], dict[str, str], list[str], int]

def parse_json(
    body: bytes | bytearray | memoryview,
    queue_data: Callable[[int, int, int, int], Queues],
    slots: RouteSlots | None = None,
    broker_name: str | None = None,
) -> Parsed[Queues] | None:
    """A plain RegisterBrokerBody, or None: declined.

    ``queue_data`` makes one topic's queues of readQueueNums, writeQueueNums, perm and topicSysFlag (32 bits each). It
    is not called for every topic: equal numbers may share what an earlier call in the same body returned. With
    ``slots``, topics that the broker has there with the same queues are only counted.
    """

def parse_compressed(
    inflated: bytes | bytearray | memoryview,
    mappings: bool,
    queue_data: Callable[[int, int, int, int], Queues],
    slots: RouteSlots | None = None,
    broker_name: str | None = None,
) -> Parsed[Queues] | None:
    """Likewise the blocks of a compressed one, inflated. ``mappings`` says whether their section must be there."""
