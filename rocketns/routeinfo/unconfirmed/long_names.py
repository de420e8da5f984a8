"""Known routes without the names that no broker may register.

A journal may have them from a time with another bound, and another name server may have none. What is left out is as if
nobody had said it, so the rest is restored.
"""

from __future__ import annotations

from rocketns.protocol.names import is_too_long
from rocketns.routeinfo.unconfirmed.known import KnownBroker, KnownGroup, KnownRoutes


def leave_out_long_names(known: KnownRoutes, most: int) -> int:
    """Remove the groups, brokers, topics, filter servers and mappings with a name of more than ``most`` bytes.

    Returns how many. Topics and mappings of a removed group are not counted.
    """
    return _leave_out_groups(known, most) + _leave_out_topics(known, most) + _leave_out_mappings(known, most)


def _leave_out_groups(known: KnownRoutes, most: int) -> int:
    """And those that lost all brokers by it."""
    count, gone = 0, set()
    for name, group in known.groups.items():
        too_long = _any_too_long(most, name, group.cluster, group.zone_name)
        left = too_long or _leave_out_brokers(group, most)
        count += left
        if too_long or (left and not group.brokers):
            gone.add(name)
    for name in gone:
        del known.groups[name]
    for topic, brokers in list(known.topics.items()) if gone else ():
        for name in gone & brokers.keys():
            known.delete_topic(name, topic)
    return count


def _any_too_long(most: int, *texts: str | None) -> bool:
    return any(text is not None and is_too_long(text, most) for text in texts)


def _leave_out_brokers(group: KnownGroup, most: int) -> int:
    gone = [i for i, one in group.brokers.items() if _any_too_long(most, one.cluster, one.addr, one.ha_server_addr)]
    for broker_id in gone:
        del group.brokers[broker_id]
    return len(gone) + sum(_leave_out_filter_servers(broker, most) for broker in group.brokers.values())


def _leave_out_filter_servers(broker: KnownBroker, most: int) -> int:
    kept = [server for server in broker.filter_servers if not _any_too_long(most, server)]
    count = len(broker.filter_servers) - len(kept)
    if count:
        broker.note_filter_servers(kept)
    return count


def _leave_out_topics(known: KnownRoutes, most: int) -> int:
    gone = [topic for topic in known.topics if is_too_long(topic, most)]
    for topic in gone:
        del known.topics[topic]
    return len(gone)


def _leave_out_mappings(known: KnownRoutes, most: int) -> int:
    gone = [(topic, name) for topic, infos in known.mappings.items() for name, info in infos.items()
            if _any_too_long(most, topic, name, info.topic, info.bname, info.scope)]  # fmt: skip
    for topic, name in gone:
        del known.mappings[topic][name]
        if not known.mappings[topic]:
            del known.mappings[topic]
    return len(gone)
