"""The rows of the API: what each column is. The answers and the OpenAPI document are both made from these classes.

JSON has the names in Java's style: ``last_heartbeat`` is ``lastHeartbeat``. Times are milliseconds since 1970. Names
and values that are too long are cut (`paging`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from rocketns.admin.recent import Phrase
from rocketns.fleet.missing import MissingReason
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.tables import LATE_PERCENT

Text = str | None
Role = Literal["master", "slave"]
State = Literal["live", "late", "unconfirmed", "gone"]
Level = Literal["ok", "attention", "critical"]
EpochMs = int | None


@dataclass(frozen=True, slots=True)
class BrokerStateRow:
    """One broker: an id of a group at an address."""

    cluster: Annotated[Text, "of its group"]
    broker: Annotated[str, "the name of its group"]
    id: Annotated[int, "0 is the master"]
    address: Annotated[str, "as it announced it"]
    role: Annotated[Role, "by its id"]
    zone: Annotated[Text, "of its group"]
    state: Annotated[
        State, f"late: silent for more than {LATE_PERCENT} % of its time-out. gone: in the routes without a live entry"
    ]
    unconfirmed: Annotated[DoubtReason | None, "why it is in the routes without a sign of life"]
    why: Annotated[Text, "the same in words"]
    last_heartbeat: Annotated[EpochMs, "its last sign of life; null if unknown"]
    silent_ms: Annotated[int | None, "since the last sign of life at this process"]
    late_ms: Annotated[int | None, "after so much silence it is late"]
    timeout_ms: Annotated[int | None, "after so much silence it leaves the routes"]
    version: Annotated[int | None, "the number that it sends; null before its first request"]
    version_name: Annotated[Text, "the version of RocketMQ with this number"]
    connection: Annotated[Text, "the peer's address of the connection of its last registration"]
    ha_address: Annotated[Text, "where its slaves copy from"]
    view: Annotated[Text, "that it registered through; brokers belong in none"]


@dataclass(frozen=True, slots=True)
class TopicRow:
    """One topic. All numbers but ``brokers`` are counted for the rows of the answer only."""

    topic: Annotated[str, "its name"]
    brokers: Annotated[int, "broker groups with queues of it"]
    read_queues: Annotated[int, "of all these groups together"] = 0
    write_queues: Annotated[int, "of all these groups together"] = 0
    not_writable: Annotated[int, "groups that take no messages of it"] = 0


@dataclass(frozen=True, slots=True)
class QueueRow:
    """The queues that one broker group has of a topic."""

    broker: Annotated[str, "the name of the group"]
    cluster: Annotated[Text, "of the group"]
    zone: Annotated[Text, "of the group"]
    addresses: Annotated[dict[str, str], "broker id to address; empty if the group is not registered"]
    read_queues: int
    write_queues: int
    readable: bool
    writable: bool
    sys_flag: Annotated[int, "1 unit, 2 subscribed by units"]


@dataclass(frozen=True, slots=True)
class RouteRow:
    """The route of a topic, as a client without a zone gets it."""

    topic: str
    view: Annotated[Text, "whose addresses these are; null: those that brokers announced"]
    queues: tuple[QueueRow, ...]
    left_out: Annotated[int, "broker groups whose queues would make the answer too long"]
    filter_servers: Annotated[dict[str, list[str]], "of the brokers that have any, by address"]
    static_mappings: Annotated[int, "queue mappings, if the topic is static"]
    order_configuration: Annotated[Text, "of the KV namespace ORDER_TOPIC_CONFIG"]


@dataclass(frozen=True, slots=True)
class ViewRow:
    """One view: which addresses its clients get."""

    view: Annotated[str, "its name"]
    networks: Annotated[tuple[str, ...], "who is in it; empty if it has a port of its own"]
    listen: Annotated[Text, "where its clients connect"]
    rules: Annotated[int, "that map addresses"]
    lookups: Annotated[int, "of its clients, that reactors answered since the start"]
    bytes: Annotated[int, "memory at the reactors"]


@dataclass(frozen=True, slots=True)
class KvRow:
    """One item of the KV configuration."""

    namespace: str
    key: str
    value: Annotated[Text, "at most 4,096 characters of it; null if it has none"]
    characters: Annotated[int, "of the whole value"]


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """One connection of the name server port."""

    peer: Annotated[str, "address and port; those of a PROXY header if there was one"]
    tls: bool
    language: Annotated[Text, "of its first lookup at a reactor, or its last request that control took"]
    version: Annotated[int | None, "the number of that request"]
    version_name: Annotated[Text, "the version of RocketMQ with this number"]
    since: Annotated[int, "when it was opened"]
    requests: Annotated[int, "since it was opened, with the lookups that reactors answered"]
    waiting: Annotated[int, "requests without an answer"]
    brokers: Annotated[tuple[str, ...], "addresses of the brokers that registered over it, 16 at most"]


@dataclass(frozen=True, slots=True)
class MissingRow:
    """A topic that was asked for, and has no route."""

    topic: Annotated[str, "its name, as it was asked for"]
    since_ms: Annotated[int, "the first lookup that found no route"]
    last_ms: Annotated[int, "the last one"]
    lookups: Annotated[int, "that found no route since then; under a flood of names at least so many"]
    peers: Annotated[tuple[str, ...], "who asked, the latest first: one address of each host, 4 at most"]
    nearest: Annotated[tuple[str, ...] | None, "the topics here with the nearest names, 3 at most; null while the "
                       "server has not looked for them"]  # fmt: skip
    reason: Annotated[MissingReason, "noBrokers: no broker is registered here. notAName: no topic can have this name. "
                      "group: a topic that brokers make for a consumer group. brokersGone: it has queues, but none of "
                      "their brokers is registered. system: a topic of RocketMQ itself. created: the first message "
                      "creates it. absent: no broker has it, and none creates it"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """Something that an operator should know."""

    level: Level
    text: Annotated[str, "a sentence in English"]
    name: Annotated[str, "of this kind of trouble"]
    said: Annotated[Phrase, "the sentence in parts, without its detail; other languages are found by its messages"]
    n: Annotated[int | None, "a number in the sentence, or how many topics follow from it"]
    names: Annotated[tuple[str, ...], "the first ones, 5 at most"]
    detail: Annotated[str, "why, in technical words"]
    remedy: Annotated[str, "what to do first, in English"]
    remedy_said: Annotated[Phrase, "the same in parts; other languages are found by its message"]
    commands: Annotated[tuple[str, ...], "lines for a shell or a properties file, to copy: 4 at most"]


@dataclass(frozen=True, slots=True)
class LostRow:
    """A broker that was lost in the last 10 minutes, and is not back."""

    broker: str
    id: int
    address: Text
    cluster: Text
    at: Annotated[int, "when it left the routes"]
    cause: Annotated[str, "as in the event down"]
    why: Annotated[str, "the cause in words"]


@dataclass(frozen=True, slots=True)
class StatusRow:
    """The name server in numbers."""

    name: Annotated[str, "host and port of the name server port: the machine's own name where it listens everywhere"]
    version: Annotated[str, "of rocketns"]
    now: Annotated[int, "the server's clock"]
    started: int
    level: Annotated[Level, "of the worst reason"]
    reasons: Annotated[tuple[ReasonRow, ...], "what is not as it should be, the worst first, 20 at most"]
    clusters: int
    groups: int
    brokers: Annotated[int, "addresses in the groups"]
    late: int
    lost: Annotated[tuple[LostRow, ...], "the latest first, 100 at most, fewer if names are long"]
    wiped: Annotated[tuple[str, ...], "groups of which no topic takes messages, as many at most"]
    topics: int
    missing_topics: Annotated[int, "topics without a route that were asked for within the last hour, see missing"]
    connections: int
    lookups: Annotated[int, "answered by reactors since the start"]
    lookups_missed: Annotated[int, "of them, those of topics without a route"]
    registrations: Annotated[int, "since the start"]
    waiting_requests: Annotated[int, "in the inbox of control"]


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Why there is no answer."""

    error: str
