"""Routes as the limits count them: queues of a topic on a broker, static-topic mappings and filter servers.

Each is one route, and one more for each 256 characters of its names: so a number of routes bounds memory.
`queue_table.routes_of` counts many topics at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketns.protocol.body.route import TopicQueueMappingInfo

CHARACTERS_BITS = 8
# Eight numbers of a mapping take less than 1 KB.
IDS_BITS = 3


def routes_of_name(name: str | None) -> int:
    """A topic on one broker, or a filter server."""
    return 1 if name is None else 1 + (len(name) >> CHARACTERS_BITS)


def routes_of_servers(servers: Iterable[str | None]) -> int:
    """The filter servers of a broker."""
    return sum(map(routes_of_name, servers))


def routes_of_mapping(topic: str, info: TopicQueueMappingInfo) -> int:
    """A static-topic mapping of a broker."""
    characters = sum(len(text) for text in (topic, info.topic, info.bname, info.scope) if text is not None)
    return 1 + (characters >> CHARACTERS_BITS) + (len(info.curr_id_map or ()) >> IDS_BITS)
