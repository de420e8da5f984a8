"""The topics of a broker that was known at the start are replaced as a whole by its first registration.

In Java a first registration finds no topics of the broker. But not every registration has all topics: a broker sends a
changed topic by itself, and may split a large table (enableSplitRegistration). Java refuses a single topic from an
unknown broker; here it is taken, and replaces nothing. Topics that a part of a split table does not name go only after
the other parts had time to come, so that no route is lost in between.
"""

from __future__ import annotations

from rocketns.protocol.body.route import TopicTable
from rocketns.routeinfo.doubt import Unheard
from rocketns.routeinfo.events import Cause, TopicsDeleted
from rocketns.routeinfo.tables import RouteTables

# No broker splits a smaller table: its default is 800 topics.
SPLIT_TOPICS_MIN = 100
# The parts of a split table come one right after another.
PARTS_WITHIN_MS = 3_000


def is_whole(tables: RouteTables, broker_name: str, table: TopicTable) -> bool:
    """Whether a registration may have all topics. A broker always has a topic of its own name, and never only one."""
    own = broker_name in tables.topic_queue_table.get(broker_name, ())
    return table.topics > 1 and (not own or broker_name in table.queues)


def replace_topics(tables: RouteTables, broker_name: str, table: TopicTable, now_ms: int) -> list[TopicsDeleted]:
    """Remove what the first registration of a group does not name, or note it for later. ``table`` is not applied yet.

    Later registrations have no effect.
    """
    unheard = tables.unheard.get(broker_name)
    if unheard is None:
        return []
    _note_named(tables, broker_name, unheard, table)
    if is_whole(tables, broker_name, table):
        if not unheard.lacking or table.topics < SPLIT_TOPICS_MIN:
            return _delete_lacking(tables, broker_name)
        unheard.due_ms = unheard.due_ms or now_ms + PARTS_WITHIN_MS
    return []


def replace_overdue(tables: RouteTables, now_ms: int) -> list[TopicsDeleted]:
    """Remove what no part of a split table named in time."""
    due = [name for name, one in tables.unheard.items() if one.due_ms is not None and one.due_ms <= now_ms]
    return [event for name in due for event in _delete_lacking(tables, name)]


def _note_named(tables: RouteTables, broker_name: str, unheard: Unheard, table: TopicTable) -> None:
    named = table.queues.keys() | set(table.renamed.values())
    if unheard.lacking is None:
        unheard.lacking = {topic for topic in tables.topics_of_broker(broker_name) if topic not in named}
    else:
        unheard.lacking -= named


def _delete_lacking(tables: RouteTables, broker_name: str) -> list[TopicsDeleted]:
    lacking = tables.unheard.pop(broker_name).lacking or ()
    gone = [topic for topic in sorted(lacking) if tables.remove_queue_data(topic, broker_name)]
    return [TopicsDeleted(broker_name, gone, Cause.REGISTER)] if gone else []
