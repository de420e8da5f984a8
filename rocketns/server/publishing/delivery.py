"""Delivers the events of a mutation to all their consumers, before the request that caused them is answered.

One of them tells the brokers of a group which of them has the smallest id now (NOTIFY_MIN_BROKER_ID_CHANGE, 905).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from rocketns.client.remoting_client import RemotingClient
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.encoding import encode_request
from rocketns.routeinfo import events as e
from rocketns.routeinfo.events import Event
from rocketns.server.publishing.eventlog import log_events
from rocketns.server.publishing.publisher import LookupSwitch, Publisher

client_log = logging.getLogger("rocketns.client")

# A group has some brokers. Any peer can register one with thousands, and each lower id would notify all of them.
RECEIVERS_MAX = 64


class MinBrokerNotifier:
    """``notifyMinBrokerIdChanged`` is read at each event. Brokers that leave during a shutdown leave because of it."""

    def __init__(self, context: NamesrvContext, client: RemotingClient) -> None:
        self._context = context
        self._client = client

    def notify(self, events: list[e.Event], _now: Now) -> None:
        """Send the notifications that the events ask for. They are one-way, so nothing waits for them."""
        if self._context.going_away or not self._context.configuration.namesrv.notify_min_broker_id_changed:
            return
        for event in events:
            if isinstance(event, e.MinBrokerIdChanged):
                self._send(event)

    def _send(self, event: e.MinBrokerIdChanged) -> None:
        ext = {  # in the order of Java's HashMap
            "haBrokerAddr": event.ha_addr,
            "offlineBrokerAddr": event.offline_addr,
            "minBrokerAddr": event.min_broker_addr,
            "minBrokerId": str(event.min_broker_id),
        }
        code, version = RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, self._context.release.version
        _, frame = encode_request(code, ext, self._context.serialize_type, oneway=True, version=version)
        if len(event.receivers) > RECEIVERS_MAX:
            client_log.warning("%d brokers of %s are not notified of its lowest broker id: it has more than %d brokers",
                        len(event.receivers) - RECEIVERS_MAX, event.broker_name, RECEIVERS_MAX)  # fmt: skip
        tables = self._context.tables
        group = tables.broker_addr_table.get(event.broker_name)
        for addr in event.receivers[:RECEIVERS_MAX]:
            entry = None if group is None else tables.live(group.cluster, addr)
            self._client.invoke_oneway(addr, frame, None if entry is None else entry.announced_by)


log = logging.getLogger("rocketns.control")

# Sees the events. It must take microseconds: the answer waits for it. The journal's result counts, no other: whether a
# change of routes is being written.
Watcher = Callable[[list[Event], Now], object]


class EventDelivery:
    """Never raises: what one consumer fails to do is logged, and the others and the answer do not suffer."""

    def __init__(
        self, context: NamesrvContext, publisher: Publisher, switch: LookupSwitch, notifier: MinBrokerNotifier
    ) -> None:
        self._context = context
        self._publisher = publisher
        self._switch = switch
        self._consumers: list[tuple[str, Watcher]] = []
        self.watch(log_events, "log")
        self.watch(notifier.notify, "notify brokers of")

    def watch(self, watcher: Watcher, what: str = "count") -> None:
        """Give the events of each mutation to one more consumer, from now on. ``what`` it does with them."""
        self._consumers.append((what, watcher))

    def deliver(self, events: list[Event], now: Now) -> bool:
        """Show the reactors what changed, then log it, notify brokers, and record it. Whether the journal is writing a
        change of routes, for which the answer should wait.
        """
        try:
            self._publisher.publish(events)
        except Exception:  # the slots may differ from the tables, so nobody reads them any more
            log.exception("a change cannot be published to the reactors: from now on control answers all lookups")
            self._switch.may_be_on = False
            self._switch.update(now)
            self._context.registered_topics = None  # every registration is read in full
        if any(isinstance(event, e.ConfigChanged) for event in events):
            self._switch.update(now)
        is_being_written = False
        for what, consume in self._consumers if events else ():
            try:
                is_being_written |= consume(events, now) is True
            except Exception:
                log.exception("cannot %s what changed", what)
        return is_being_written
