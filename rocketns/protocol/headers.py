"""The request headers: one dataclass for each Java class, and how their fields are read from extFields.

The rules are those of RemotingCommand.decodeCommandCustomHeader. A field that is missing or does not parse stays null,
even if it is marked as required; no request is refused here, but one with a name that is too long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from rocketns.javatext import parse_boolean, parse_int, parse_long
from rocketns.protocol.codes import ZONE_MODE, ZONE_NAME
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.names import CHARACTER_BYTES_MAX

Header = TypeVar("Header")


def _text(text: str) -> str:
    return text


Long = Annotated[int, "java.lang.Long"]
Int = Annotated[int, "int"]
Text = Annotated[str, "of any length"]

# The types of fields. A `str` that is no `Text` is a name, whose length is limited.
_PARSERS: dict[Any, Callable[[str], Any] | None] = {
    str | None: None,
    Text | None: _text,
    Long | None: parse_long,
    Int: parse_int,
    bool: parse_boolean,
    bool | None: parse_boolean,
}


@cache
def _readers(kind: Any) -> list[tuple[str, str, Any]]:
    """Field, Java's name of it, and parser. KeyError for a field of a type that has no parser."""

    def java_name(name: str) -> str:
        if name == "zone_name":
            return ZONE_NAME
        head, *rest = name.split("_")
        return head + "".join(part.capitalize() for part in rest)

    types = get_type_hints(kind, include_extras=True)
    return [(name, java_name(name), _PARSERS[of]) for name, of in types.items()]


def decode_header(command: RemotingCommand, kind: type[Header]) -> Header:
    """The request's ext fields as ``kind``. A missing or unparsable field keeps its default. NameTooLong."""
    header = kind()
    if command.ext_fields is None:
        return header
    short = command.name_bytes_max // CHARACTER_BYTES_MAX
    for name, java_name, parse in _readers(kind):  # type: ignore[arg-type]
        text = command.ext_fields.get(java_name)
        if text is None:
            continue
        if parse is None and len(text) > short:
            command.name(java_name)
        value = text if parse is None else parse(text)
        if value is not None:
            setattr(header, name, value)
    return header


@dataclass(slots=True)
class KVConfigRequestHeader:
    """PutKVConfig-, GetKVConfig-, DeleteKVConfig- and, by its namespace, GetKVListByNamespaceRequestHeader."""

    namespace: str | None = None
    key: str | None = None
    value: Text | None = None


@dataclass(slots=True)
class RegisterBrokerRequestHeader:
    """``enable_acting_master`` is None for brokers from before 5.0, which do not send it. ``zone_name`` is no field of
    Java's class, but beside them.
    """

    broker_name: str | None = None
    broker_addr: str | None = None
    cluster_name: str | None = None
    ha_server_addr: str | None = None
    broker_id: Long | None = None
    heartbeat_timeout_millis: Long | None = None
    enable_acting_master: bool | None = None
    compressed: bool = False
    body_crc32: Int = 0
    zone_name: str | None = None


@dataclass(slots=True)
class BrokerAddressRequestHeader:
    """UnRegisterBroker-, QueryDataVersion-, BrokerHeartbeat- and GetBrokerMemberGroupRequestHeader."""

    broker_name: str | None = None
    broker_addr: str | None = None
    cluster_name: str | None = None
    broker_id: Long | None = None


@dataclass(slots=True)
class GetRouteInfoRequestHeader:
    """GetRouteInfoRequestHeader."""

    topic: str | None = None
    accept_standard_json_only: bool = False


@dataclass(slots=True)
class TopicRequestHeader:
    """RegisterTopic- and DeleteTopicFromNamesrvRequestHeader."""

    topic: str | None = None
    cluster_name: str | None = None


@dataclass(slots=True)
class BrokerNameRequestHeader:
    """WipeWritePermOfBroker- and AddWritePermOfBrokerRequestHeader."""

    broker_name: str | None = None


@dataclass(slots=True)
class GetTopicsByClusterRequestHeader:
    """GetTopicsByClusterRequestHeader."""

    cluster: str | None = None


def requested_zone(command: RemotingCommand) -> str | None:
    """The zone by which the answer is filtered, or None. ZoneRouteRPCHook reads it straight from extFields."""
    zone = command.name(ZONE_NAME)
    if not parse_boolean(command.ext(ZONE_MODE)) or zone is None or not zone.strip():
        return None
    return zone
