"""Why a topic has no route, as far as the tables of one name server say."""

from __future__ import annotations

from enum import StrEnum

from rocketns.protocol.codes import SYNC_BROKER_MEMBER_GROUP_PREFIX
from rocketns.protocol.names import CREATION_TOPIC, SELF_TEST_TOPIC, is_valid
from rocketns.routeinfo.tables import RouteTables

BROKERS_NAMED_MAX = 5
# Never missing: a client asks for the first one after its own topic, which is noted. Every broker has the second one,
# so tools probe with it, among them `rocketns doctor`.
PROBED = frozenset((CREATION_TOPIC, SELF_TEST_TOPIC))
# What brokers make for a consumer group, or for each other: clients ask for them before they exist.
GROUP_PREFIXES = ("%RETRY%", "%DLQ%", SYNC_BROKER_MEMBER_GROUP_PREFIX)
SYSTEM_PREFIXES = ("rmq_sys_", "RMQ_SYS_", "%SYS%", "%LMQ%")
SYSTEM_TOPICS = frozenset((
    *PROBED, "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "TRANS_CHECK_MAX_TIME_TOPIC", "OFFSET_MOVED_EVENT",
))  # fmt: skip


class MissingReason(StrEnum):
    """Why a topic has no route."""

    NO_BROKERS = "noBrokers"
    NOT_A_NAME = "notAName"
    GROUP = "group"
    BROKERS_GONE = "brokersGone"
    SYSTEM = "system"
    CREATED = "created"
    ABSENT = "absent"


# Nothing to say in the log: others make these topics, and clients ask for them again and again until then.
QUIET = frozenset((MissingReason.GROUP,))


def why_missing(tables: RouteTables, topic: str, *, creates: bool) -> MissingReason:
    """Control only. The first reason of the list above that holds. ``creates``: some broker creates topics."""
    if not tables.broker_addr_table:
        return MissingReason.NO_BROKERS
    if topic.startswith(GROUP_PREFIXES):
        return MissingReason.GROUP
    if not is_valid(topic):
        return MissingReason.NOT_A_NAME
    if tables.topic_queue_table.get(topic):
        return MissingReason.BROKERS_GONE
    if topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIXES):
        return MissingReason.SYSTEM
    return MissingReason.CREATED if creates else MissingReason.ABSENT


def creating_groups(tables: RouteTables) -> list[str]:
    """Control only. The broker groups that create a topic at its first message."""
    return [name for name in tables.topic_queue_table.get(CREATION_TOPIC, ()) if name in tables.broker_addr_table]


def has_route(tables: RouteTables, topic: str) -> bool:
    """Control only. As `view.pick_up_route`, without making the route."""
    return any(name in tables.broker_addr_table for name in tables.topic_queue_table.get(topic, ()))


def in_words(why: MissingReason, topic: str, groups: list[str]) -> str:
    """The reason as a sentence. ``groups``: those that create topics."""
    match why:
        case MissingReason.NO_BROKERS:
            return "no broker is registered here, so no topic has a route. No more lines like this within an hour"
        case MissingReason.NOT_A_NAME:
            return "brokers take no topic of this name: it is longer than 127 characters, or has others than % | - _, "\
                "letters and digits"  # fmt: skip
        case MissingReason.BROKERS_GONE:
            return "none of the brokers that have its queues is registered"
        case MissingReason.CREATED:
            return f"no broker has it. The first message creates it at {_named(groups)}, where automatic creation is on"
        case MissingReason.GROUP:
            return "no broker has it. Brokers make it for a consumer group"
        case MissingReason.SYSTEM:
            return "no broker has it. It is a topic of RocketMQ itself, which brokers make by their own properties"
        case MissingReason.ABSENT:
            return "no broker has it, and automatic creation is off at all of them (none has TBW102). To create it: "\
                f"mqadmin updateTopic -n NAME_SERVERS -c CLUSTER -t '{topic}'"  # fmt: skip


def _named(groups: list[str]) -> str:
    more = len(groups) - BROKERS_NAMED_MAX
    shown = ", ".join(groups[:BROKERS_NAMED_MAX])
    return f"{shown} and {more} more brokers" if more > 0 else shown
