"""Delivers the events of a mutation to all their consumers, before the request that caused them is answered.

One of them tells the brokers of a group which of them has the smallest id now (NOTIFY_MIN_BROKER_ID_CHANGE, 905).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from rocketns.client.remoting_client import RemotingClient
from rocketns.config import NamesrvConfig
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.codes import V5_5_0, RequestCode, SerializeType
from rocketns.protocol.encoding import encode_request
from rocketns.routeinfo import events as e
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.publishing.eventlog import log_events
from rocketns.server.publishing.publisher import LookupSwitch, Publisher

client_log = logging.getLogger("rocketns.client")

# A group has some brokers. Any peer can register one with thousands, and each lower id would notify all of them.
RECEIVERS_MAX = 64


class MinBrokerNotifier:
    """``notifyMinBrokerIdChanged`` is read at each event."""

    def __init__(
        self, config: NamesrvConfig, tables: RouteTables, client: RemotingClient, serialize_type: SerializeType,
        version: int = V5_5_0,
    ) -> None:  # fmt: skip
        self._config = config
        self._tables = tables
        self._client = client
        self._serialize_type = serialize_type
        self._version = version

    def notify(self, events: list[e.Event]) -> None:
        """Send the notifications that the events ask for. They are one-way, so nothing waits for them."""
        if not self._config.notify_min_broker_id_changed:
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
        code = RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE
        _, frame = encode_request(code, ext, self._serialize_type, oneway=True, version=self._version)
        if len(event.receivers) > RECEIVERS_MAX:
            client_log.warning("%d brokers of %s are not notified of its lowest broker id: it has more than %d brokers",
                        len(event.receivers) - RECEIVERS_MAX, event.broker_name, RECEIVERS_MAX)  # fmt: skip
        for addr in event.receivers[:RECEIVERS_MAX]:
            self._client.invoke_oneway(addr, frame, self._announcer(event.broker_name, addr))

    def _announcer(self, broker_name: str, addr: str) -> str | None:
        """The host that registered a member of a group."""
        group = self._tables.broker_addr_table.get(broker_name)
        entry = None if group is None else self._tables.live(group.cluster, addr)
        return None if entry is None else entry.announced_by


log = logging.getLogger("rocketns.control")

# The events, and the two clocks of their instant: see `Now`. Returns whether a change of routes is being written.
Recorder = Callable[[list[Event], int, int], bool]
# Sees the events after the other consumers. It must take microseconds: the answer waits for it.
Watcher = Callable[[list[Event], Now], None]


class EventDelivery:
    """Never raises: what one consumer fails to do is logged, and the others and the answer do not suffer.

    ``record`` writes the journal; None where there is none.
    """

    def __init__(
        self, context: NamesrvContext, publisher: Publisher, switch: LookupSwitch, notifier: MinBrokerNotifier,
        record: Recorder | None,
    ) -> None:  # fmt: skip
        self._context = context
        self._publisher = publisher
        self._switch = switch
        self._notifier = notifier
        self._record = record
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> None:
        """Give the events of each mutation to one more consumer, from now on."""
        self._watchers.append(watcher)

    def deliver(self, events: list[Event], now: Now) -> bool:
        """Show the reactors what changed, then log it, record it, and notify brokers.

        Also without events: a request may have changed a property, and time may have passed. Whether the journal is
        writing a change of routes, for which the answer should wait.
        """
        self._publish(events)
        self._switch.update(now)
        if not events:
            return False
        _attempt("log", lambda: log_events(events))
        is_being_written = False
        if self._record is not None:
            record = self._record
            is_being_written = bool(_attempt("record", lambda: record(events, now.ms, now.epoch_ms)))
        if not self._context.going_away:  # the brokers that leave now do so because of the shutdown
            _attempt("notify brokers of", lambda: self._notifier.notify(events))
        for watcher in self._watchers:
            _attempt("count", partial(watcher, events, now))
        return is_being_written

    def _publish(self, events: list[Event]) -> None:
        """After a failure the slots may differ from the tables, so nobody reads them any more."""
        try:
            self._publisher.publish(events)
        except Exception:
            log.exception("a change cannot be published to the reactors: from now on control answers all lookups")
            self._switch.turn_off()
            self._context.forget_known_topics()


def _attempt(what: str, act: Callable[[], object]) -> object:
    try:
        return act()
    except Exception:
        log.exception("cannot %s what changed", what)
        return None
