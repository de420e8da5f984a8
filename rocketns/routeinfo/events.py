"""What a mutation of the tables returns: its effects, in the order they happened.

The caller decides what becomes of them: log lines, the journal, published routes. `KvChanged` and `ConfigChanged` come
from beside the tables and go the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rocketns.protocol.body.route import DataVersion, QueueData


class Cause(StrEnum):
    """Why something changed."""

    REGISTER = "register"
    UNREGISTER = "unregister"
    EXPIRED = "expired"
    CHANNEL_CLOSE = "channel_close"
    CHANNEL_EXCEPTION = "channel_exception"
    CHANNEL_IDLE = "channel_idle"
    CONFLICT = "conflict"
    ADMIN = "admin"
    TOPIC = "topic"
    PERM = "perm"


@dataclass(slots=True, frozen=True)
class BrokerRegistered:
    """A live entry was made or replaced. ``gap_ms`` since its last refresh, None for a new one."""

    cluster: str
    broker_name: str
    addr: str
    broker_id: int
    ha_server_addr: str | None
    data_version: DataVersion | None
    timeout_ms: int
    gap_ms: int | None


@dataclass(slots=True, frozen=True)
class BrokerHeartbeat:
    """A live entry was refreshed by something else than a registration."""

    cluster: str
    addr: str
    gap_ms: int


@dataclass(slots=True, frozen=True)
class BrokerIdsLeft:
    """An address left its other ids in its group, whatever becomes of the registration that made it do so."""

    broker_name: str
    addr: str
    broker_ids: list[int]


@dataclass(slots=True, frozen=True)
class BrokerConflict:
    """A registration lost against the holder of its broker id, whose stateVersion is higher."""

    cluster: str
    broker_name: str
    broker_id: int
    holder_addr: str
    addr: str


@dataclass(slots=True, frozen=True)
class BrokerRefused:
    """A single-topic registration came from an address that is not registered."""

    broker_name: str
    broker_id: int
    addr: str


@dataclass(slots=True, frozen=True)
class BrokerDown:
    """A live entry was asked to go. ``live`` says whether it existed; ``gap_ms`` since its last refresh."""

    cluster: str
    broker_name: str | None
    addr: str
    broker_id: int | None
    live: bool
    gap_ms: int | None
    cause: Cause


class TopicChange(NamedTuple):
    """One topic's queues on one broker; ``old`` is None where the broker did not have the topic."""

    topic: str
    old: QueueData | None
    new: QueueData


@dataclass(slots=True, frozen=True)
class TopicsPut:
    """A broker's queue data was added or changed for these topics."""

    broker_name: str
    changes: list[TopicChange]
    cause: Cause


@dataclass(slots=True, frozen=True)
class TopicsDeleted:
    """A broker's queue data was removed from these topics."""

    broker_name: str
    topics: list[str]
    cause: Cause


@dataclass(slots=True, frozen=True)
class MinBrokerIdChanged:
    """A broker group has another smallest id. ``receivers`` are the addresses that are to be told.

    ``offline_addr`` is who left, ``ha_addr`` the HA address of who joined; one of them is None.
    """

    broker_name: str
    min_broker_id: int
    min_broker_addr: str
    offline_addr: str | None
    ha_addr: str | None
    receivers: list[str]


@dataclass(slots=True, frozen=True)
class KvChanged:
    """A KV item has another value; None where it went."""

    namespace: str
    key: str
    value: str | None


@dataclass(slots=True, frozen=True)
class ConfigChanged:
    """A property has another value, as text."""

    key: str
    value: str


Event = (
    BrokerRegistered
    | BrokerHeartbeat
    | BrokerIdsLeft
    | BrokerConflict
    | BrokerRefused
    | BrokerDown
    | TopicsPut
    | TopicsDeleted
    | MinBrokerIdChanged
    | KvChanged
    | ConfigChanged
)
