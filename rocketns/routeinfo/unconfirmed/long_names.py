"""Known routes without the names that no broker may register.

A journal has such names if the bound was larger when it was written, and another name server if it has no bound. They
are left out, and the rest is restored.
"""

from __future__ import annotations

from rocketns.protocol.names import is_too_long
from rocketns.routeinfo.unconfirmed.known import KnownLive, KnownRoutes


def leave_out_long_names(known: KnownRoutes, most: int) -> int:
    """Remove the groups, brokers, topics, filter servers and mappings with a name of more than ``most`` bytes.

    Returns how many. Topics and mappings of a removed group are not counted.
    """
    before = set(known.groups)
    count = _leave_out_groups(known, most) + _leave_out_addresses(known, most)
    _leave_out_topics_of(known, before - known.groups.keys())
    return count + _leave_out_topics(known, most) + _leave_out_mappings(known, most)


def _any_too_long(most: int, *texts: str | None) -> bool:
    return any(text is not None and is_too_long(text, most) for text in texts)


def _leave_out_groups(known: KnownRoutes, most: int) -> int:
    gone = [name for name, one in known.groups.items() if _any_too_long(most, name, one.cluster, one.zone_name)]
    for name in gone:
        for broker_id, broker in list(known.groups[name].brokers.items()):
            known.remove_broker(name, broker_id, broker.cluster, broker.addr)
        known.remove_group(name)
    return len(gone)


def _leave_out_addresses(known: KnownRoutes, most: int) -> int:
    """And the groups that lost all brokers by it."""
    gone = {key for key, live in known.lives.items() if _any_too_long(most, *key, live.ha_server_addr)}
    for name, group in list(known.groups.items()) if gone else ():
        for broker_id, broker in list(group.brokers.items()):
            if (broker.cluster, broker.addr) in gone:
                known.remove_broker(name, broker_id, broker.cluster, broker.addr)
    for key in gone:
        known.lives.pop(key, None)
    return len(gone) + sum(_leave_out_filter_servers(live, most) for live in known.lives.values())


def _leave_out_filter_servers(live: KnownLive, most: int) -> int:
    kept = [server for server in live.filter_servers if not _any_too_long(most, server)]
    count = len(live.filter_servers) - len(kept)
    if count:
        live.note_filter_servers(kept)
    return count


def _leave_out_topics_of(known: KnownRoutes, gone: set[str]) -> None:
    for topic, brokers in list(known.topics.items()) if gone else ():
        for name in gone & brokers.keys():
            known.delete_topic(name, topic)


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
