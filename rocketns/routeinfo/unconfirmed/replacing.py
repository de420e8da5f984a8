"""The topics of a broker that was known at the start are replaced as a whole by its first registration.

In Java a first registration finds no topics of the broker. But not every registration has all topics: a broker sends
changed topics by themselves, and may split its table into parts of any size (enableSplitRegistration). Java refuses a
single topic from an unknown broker; here it is taken, and replaces nothing. Topics that no registration names go only
after the other parts had time to come, so that no route is lost in between.
"""

from __future__ import annotations

from rocketns.protocol.body.route import TopicTable
from rocketns.routeinfo.events import Cause, TopicsDeleted
from rocketns.routeinfo.tables import RouteTables

# The parts of a split table come one right after another.
PARTS_WITHIN_MS = 3_000


def note_topics(tables: RouteTables, broker_name: str, table: TopicTable, now_ms: int) -> bool:
    """Note what a registration names of an unheard group. ``table`` is not applied yet.

    Returns whether the registrations so far may be the whole table: a broker always has a topic of its own name, and
    never only one topic.
    """
    unheard = tables.unheard[broker_name]
    named = table.queues.keys() | set(table.renamed.values())
    if unheard.lacking is None:
        unheard.lacking = {topic for topic in tables.topics_of_broker(broker_name) if topic not in named}
    else:
        unheard.lacking -= named
    unheard.has_several = unheard.has_several or table.topics > 1
    is_whole = unheard.has_several and broker_name not in unheard.lacking
    if is_whole:
        unheard.due_ms = now_ms + PARTS_WITHIN_MS
        if not unheard.lacking:
            del tables.unheard[broker_name]
    return is_whole


def replace_overdue(tables: RouteTables, now_ms: int) -> list[TopicsDeleted]:
    """Remove what no registration named in time."""
    due = [name for name, one in tables.unheard.items() if one.due_ms is not None and one.due_ms <= now_ms]
    return [event for name in due for event in _delete_lacking(tables, name)]


def _delete_lacking(tables: RouteTables, broker_name: str) -> list[TopicsDeleted]:
    lacking = tables.unheard.pop(broker_name).lacking or ()
    gone = [topic for topic in sorted(lacking) if tables.remove_queue_data(topic, broker_name)]
    return [TopicsDeleted(broker_name, gone, Cause.REGISTER)] if gone else []
