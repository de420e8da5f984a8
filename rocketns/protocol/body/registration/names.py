"""The names in a registration: how long each may be, and what its topics repeat.

This looks at values, not at bytes, so it holds for all forms of the body and for each of their parsers.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.registration.register_broker_body import RegisterBrokerBody
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.bounds import REPEATED_BYTES_MAX
from rocketns.protocol.json import fastjson
from rocketns.protocol.names import check_keys, check_name


def check_registration(body: RegisterBrokerBody, sender: Iterable[str | None], most: int) -> None:
    """NameTooLong for a name of more than ``most`` bytes, BodyDecodeError where the topics repeat too much.

    ``sender`` has the names of the header that the route of each topic repeats.
    """
    for server in body.filter_server_list or ():
        check_name(server, most, "a filter server")
    wrapper = body.topic_config_wrapper
    if wrapper is not None:
        _check_wrapper(wrapper, sender, most)


def _check_wrapper(wrapper: TopicConfigWrapper, sender: Iterable[str | None], most: int) -> None:
    table = wrapper.topic_config_table
    if table is not None:
        check_keys(table.queues, most, "a topic")
        for name in table.renamed.values():
            check_name(name, most, "a topic")
        _check_repeated(sender, table.topics)
    for topic, info in (wrapper.topic_queue_mapping_info_map or {}).items():
        for text in (topic, info.topic, info.bname, info.scope):
            check_name(text, most, "a text of a static-topic mapping")


def _check_repeated(sender: Iterable[str | None], topics: int) -> None:
    size = sum(len(fastjson.dumps(name)) for name in sender if name is not None)
    if size * topics > REPEATED_BYTES_MAX:
        raise BodyDecodeError(
            f"{topics} topics repeat {size} bytes of their broker's names, more than {REPEATED_BYTES_MAX} bytes in all"
        )
