"""RegisterBrokerBody and its plain JSON form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rocketns.errors import BodyDecodeError
from rocketns.protocol.body.refusals import check_count
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper, wrapper_from_json
from rocketns.protocol.body.route import DataVersion
from rocketns.protocol.bounds import FILTER_SERVERS_MAX
from rocketns.protocol.json import fastjson
from rocketns.protocol.json.lenient import NumberText


@dataclass(slots=True)
class RegisterBrokerBody:
    """``filter_server_list`` None makes no statement about filter servers; an empty list clears them."""

    topic_config_wrapper: TopicConfigWrapper | None
    filter_server_list: list[str | None] | None


def decode_plain(body: bytes, now_ms: int) -> RegisterBrokerBody:
    """RegisterBrokerBody from JSON. ``now_ms`` (epoch) stands in for the timestamp of a version without one."""
    return fastjson.read(body, lambda value: _register_broker_body(value, now_ms))


def filter_servers_from_json(value: Any) -> list[str | None] | None:
    """A list of strings. A text counts as a list of one; None for anything else."""
    if isinstance(value, str) and not isinstance(value, NumberText):
        return [value] if value else []
    if isinstance(value, list):
        check_count(value, FILTER_SERVERS_MAX, "filter servers")
        return [fastjson.exact_text(item) for item in value]
    return None


def _register_broker_body(value: Any, now_ms: int) -> RegisterBrokerBody:
    fields = fastjson.as_object(value)
    if fields is None:
        raise BodyDecodeError("the body is null")
    wrapper = (
        wrapper_from_json(fields["topicConfigSerializeWrapper"], now_ms)
        if "topicConfigSerializeWrapper" in fields
        else TopicConfigWrapper(DataVersion(0, now_ms, 0))
    )
    return RegisterBrokerBody(wrapper, filter_servers_from_json(fields.get("filterServerList", [])))
