"""How many bytes a registration has at most, by the names of the topics that name servers list."""

from __future__ import annotations

from collections.abc import Iterable

from rocketns.protocol.frame import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.names import utf8_bytes

# Of one topic as JSON, with its key, without its name, which is there twice:
# "":{"attributes":{},"order":false,"perm":6,"readQueueNums":1024,"topicFilterType":"SINGLE_TAG","topicName":"", …},
ENTRY_BYTES = 160
LARGE_BYTES = FRAME_SIZE_MAX_BYTES // 2


def may_be_large(topics: Iterable[str]) -> bool:
    """Whether a broker that had all of these topics would send half as much as a frame may have, or more."""
    size = 0
    for topic in topics:
        size += ENTRY_BYTES + 2 * utf8_bytes(topic)
        if size >= LARGE_BYTES:
            return True
    return False
