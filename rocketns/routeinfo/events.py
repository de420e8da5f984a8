"""Events: the effects of a mutation of the tables, in the order in which they happened.

`KvChanged`, `ConfigChanged`, `Stalled`, `FleetDiffers`, `AdminRequested` and `RequestRefused` are not changes of the
tables. They are delivered in the same way.

Add a new event to the union `Event`. Type checking then fails in each consumer until it handles the event, or names it
among those that it ignores. The consumers are journal/effects.py, admin/recent.py, admin/metrics/table.py and
server/publishing/eventlog.py. The publisher and the notifier of brokers read the few that they need.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rocketns.protocol.body.route import DataVersion, QueueData, TopicQueueMappingInfo
from rocketns.routeinfo.doubt import Doubt


class Cause(StrEnum):
    """Why something changed."""

    REGISTER = "register"
    UNREGISTER = "unregister"
    EXPIRED = "expired"
    UNCONFIRMED = "unconfirmed"
    REFUSED = "refused"
    CHANNEL_CLOSE = "channel_close"
    CHANNEL_EXCEPTION = "channel_exception"
    CHANNEL_IDLE = "channel_idle"
    CONFLICT = "conflict"
    ADMIN = "admin"
    TOPIC = "topic"
    PERM = "perm"
    OBSERVED = "observed"


@dataclass(slots=True, frozen=True)
class BrokerRegistered:
    """A live entry was made or replaced.

    ``gap_ms``: since its last refresh, None if this process heard the broker for the first time. ``doubt``: it was
    unconfirmed until now. ``announced_by`` is the host that registered it, None if that is not known. ``timeout_ms``
    None: it was seen at another name server and has no live entry here. Of a known member its filter servers differ.
    """

    cluster: str
    broker_name: str
    addr: str
    broker_id: int
    ha_server_addr: str | None
    data_version: DataVersion | None
    timeout_ms: int | None
    gap_ms: int | None
    doubt: Doubt | None = None
    announced_by: str | None = None


@dataclass(slots=True, frozen=True)
class BrokerHeartbeat:
    """A live entry was refreshed by a request other than a registration. ``gap_ms``, ``doubt``: as above."""

    cluster: str
    addr: str
    gap_ms: int | None
    doubt: Doubt | None = None


@dataclass(slots=True, frozen=True)
class BrokerDoubted:
    """A live entry is unconfirmed from now on. ``broker_name`` and ``broker_id`` are None if no group lists it."""

    cluster: str
    broker_name: str | None
    addr: str
    broker_id: int | None
    doubt: Doubt
    gap_ms: int | None


@dataclass(slots=True, frozen=True)
class BrokerIdsLeft:
    """An address gave up its other ids in its group. Emitted even if the registration is rejected afterwards."""

    broker_name: str
    addr: str
    broker_ids: list[int]


@dataclass(slots=True, frozen=True)
class GroupChanged:
    """A registration that was not accepted changed the switches of its group."""

    broker_name: str


@dataclass(slots=True, frozen=True)
class BrokerConflict:
    """A registration was rejected: the holder of its broker id has a higher stateVersion."""

    cluster: str
    broker_name: str
    broker_id: int
    incumbent_addr: str
    addr: str


@dataclass(slots=True, frozen=True)
class BrokerRefused:
    """A registration of a single topic was refused: its address is not registered."""

    broker_name: str
    broker_id: int
    addr: str


@dataclass(slots=True, frozen=True)
class BrokerDown:
    """A broker was unregistered. ``live``: whether it had a live entry, which is gone.

    ``gap_ms``: since the entry's last refresh, None without one, or if this process never heard the broker. ``asked``:
    what the broker itself said, where an observer asked it: one of `journal.record.ASKED`.
    """

    cluster: str
    broker_name: str | None
    addr: str
    broker_id: int | None
    live: bool
    gap_ms: int | None
    cause: Cause
    asked: str | None = None


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
class MappingsPut:
    """The queue mappings of these static topics were added or changed by a broker."""

    broker_name: str
    mappings: list[tuple[str, TopicQueueMappingInfo]]


@dataclass(slots=True, frozen=True)
class MinBrokerIdChanged:
    """A broker group has another smallest id. ``receivers`` are the addresses to notify.

    ``offline_addr`` is the address that left, ``ha_addr`` the HA address of the broker that joined; one is None.
    """

    broker_name: str
    min_broker_id: int
    min_broker_addr: str
    offline_addr: str | None
    ha_addr: str | None
    receivers: list[str]


@dataclass(slots=True, frozen=True)
class KvChanged:
    """A KV item has another value; None if it was deleted."""

    namespace: str
    key: str
    value: str | None


@dataclass(slots=True, frozen=True)
class ConfigChanged:
    """A property has another value, as text."""

    key: str
    value: str


@dataclass(slots=True, frozen=True)
class Stalled:
    """The server itself did not run, for at most ``ms`` milliseconds. It reads only now what arrived in this time."""

    ms: int


@dataclass(slots=True, frozen=True)
class FleetDiffers:
    """Name servers disagree about a broker group or a topic; with ``is_over`` they agree again.

    ``sides``: what each of them says. ``since_epoch_ms`` is when the difference was first seen.
    """

    kind: str
    name: str
    sides: str
    since_epoch_ms: int
    is_over: bool = False


# The names and values of a request's fields: see `access.shown.shown_fields`.
Fields = tuple[tuple[str, str], ...]


@dataclass(slots=True, frozen=True)
class AdminRequested:
    """A request of class admin was carried out, or failed. It comes after the events of what it changed.

    ``result`` is its response code. ``host`` has no port, ``address`` has. ``before`` and ``after`` say what it
    changed, None where it changed nothing. ``count``: such requests of the same sender, code and result; more than one
    only where none of them changed anything. Without ``has_details`` fields, before and after are left out, because
    there were too many requests in this second.
    """

    code: int
    result: int
    host: str
    address: str
    principal: str | None
    access_key: str | None
    fields: Fields
    before: str | None
    after: str | None
    count: int = 1
    has_details: bool = True


@dataclass(slots=True, frozen=True)
class RequestRefused:
    """A request was refused; without ``is_enforced`` it would have been. ``access`` is its class, ``reason`` one word.

    ``count``: requests of the same host, principal, access key, code and reason since the event before. ``host`` has no
    port. ``fields`` are those of one of these requests.
    """

    code: int
    access: str
    reason: str
    host: str
    principal: str | None
    access_key: str | None
    is_enforced: bool
    count: int
    fields: Fields


Event = (
    BrokerRegistered
    | BrokerHeartbeat
    | BrokerDoubted
    | BrokerIdsLeft
    | GroupChanged
    | BrokerConflict
    | BrokerRefused
    | BrokerDown
    | TopicsPut
    | TopicsDeleted
    | MappingsPut
    | MinBrokerIdChanged
    | KvChanged
    | ConfigChanged
    | Stalled
    | FleetDiffers
    | AdminRequested
    | RequestRefused
)
