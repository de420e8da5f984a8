"""The names in a registration: how long each may be, and how often they are repeated.

This looks at values, not at bytes, so it holds for all forms of the body and for each of their parsers.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.body.route import TopicQueueMappingInfo
from rocketns.protocol.names import check_keys, check_name, check_repeated


def check_registration(body: RegisterBrokerBody, repeated: Iterable[str | None], most: int) -> None:
    """NameTooLong for a name of more than ``most`` bytes, BodyDecodeError where names would be repeated too often.

    ``repeated`` are the names of the header that routes and records repeat for each topic.
    """
    for server in body.filter_server_list or ():
        check_name(server, most, "a filter server")
    wrapper = body.topic_config_wrapper
    if wrapper is not None:
        mappings = wrapper.topic_queue_mapping_info_map or {}
        _check_mappings(mappings, most)
        check_repeated(repeated, _check_topics(wrapper, most) + len(mappings))


def _check_topics(wrapper: TopicConfigWrapper, most: int) -> int:
    """Returns how many there are."""
    table = wrapper.topic_config_table
    if table is None:
        return 0
    check_keys(table.queues, most, "a topic")
    for name in table.renamed.values():
        check_name(name, most, "a topic")
    return table.topics


def _check_mappings(mappings: dict[str, TopicQueueMappingInfo], most: int) -> None:
    for topic, info in mappings.items():
        for text in (topic, info.topic, info.bname, info.scope):
            check_name(text, most, "a text of a static-topic mapping")
