"""Whether a principal may register what a request would add. A request without anything new is always taken.

So a broker that is in the tables stays there, also after a bound was lowered. Only live entries that registered with
this process count: of a restored one nobody knows by whose right it registered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from rocketns._fast.routes.queue_table import routes_of
from rocketns.errors import BeyondBounds
from rocketns.protocol.body.route import TopicTable
from rocketns.protocol.codes import MASTER_ID
from rocketns.routeinfo.held.broker_topics import utf8_bytes
from rocketns.routeinfo.registration import BrokerRegistration
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables


class Bounds(Protocol):
    """None is no bound but that of the tables.

    ``brokers_max``: live brokers. ``topics_max``: topics of their broker names, counted as `Limits.routes_max` counts
    them, so a topic of two brokers counts twice. ``bytes_max``: the names of these topics as UTF-8.
    """

    @property
    def brokers_max(self) -> int | None: ...
    @property
    def topics_max(self) -> int | None: ...
    @property
    def bytes_max(self) -> int | None: ...


def beyond(tables: RouteTables, bounds: Bounds | None, asked: BrokerRegistration) -> BeyondBounds | None:
    """What of the registration would be more than its principal may have. It has not been applied yet."""
    if bounds is None:
        return None
    try:
        _check(tables, bounds, asked)
    except BeyondBounds as error:
        return error
    return None


def _check(tables: RouteTables, bounds: Bounds, asked: BrokerRegistration) -> None:
    if asked.principal is None or asked.cluster is None or asked.broker_name is None or not asked.addr:
        return
    key = BrokerAddrInfo(asked.cluster, asked.addr)
    own = tables.by_principal.get(asked.principal, {})
    if bounds.brokers_max is not None and key not in own and len(own) >= bounds.brokers_max:
        raise BeyondBounds(f"it would have {len(own) + 1} live brokers", asked.principal, "brokers_max",
                           bounds.brokers_max)  # fmt: skip
    if bounds.topics_max is None and bounds.bytes_max is None:
        return
    added = list(_added_topics(tables, asked))
    if added:
        names = {name for one in own for name in tables.held.get(one, ())} | {tables.known_name(asked.broker_name)}
        _check_topics(tables, bounds, asked.principal, names, added)


def _added_topics(tables: RouteTables, asked: BrokerRegistration) -> Iterator[str]:
    """Topics of the registration that its broker name does not have."""
    registers = asked.broker_id == MASTER_ID or asked.enable_acting_master is not None
    table = None if asked.wrapper is None else asked.wrapper.topic_config_table
    if table is None or not registers or asked.broker_name is None:
        return
    known = tables.topic_queue_table
    for topic in _names(table):
        if asked.broker_name not in known.get(topic, ()):
            yield topic


def _names(table: TopicTable) -> Iterator[str]:
    named = {table.renamed.get(key, key) for key in table.queues}
    return (topic for topic in named if topic is not None)


def _check_topics(tables: RouteTables, bounds: Bounds, principal: str, names: Iterable[str], added: list[str]) -> None:
    held = [tables.broker_topics[name] for name in names if name in tables.broker_topics]
    if bounds.topics_max is not None:
        topics = sum(one.routes for one in held) + routes_of(added, 0)
        if topics > bounds.topics_max:
            raise BeyondBounds(f"its brokers would have {topics} topics", principal, "topics_max", bounds.topics_max)
    if bounds.bytes_max is not None:
        for name in names:
            tables.topics_of_broker(name)  # without those that are gone
        size = sum(one.name_bytes() for one in held) + sum(map(utf8_bytes, added))
        if size > bounds.bytes_max:
            raise BeyondBounds(f"the topics of its brokers would have {size} bytes of names", principal, "bytes_max",
                               bounds.bytes_max)  # fmt: skip
