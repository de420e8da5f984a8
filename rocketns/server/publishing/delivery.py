"""Delivers the events of a mutation to all their consumers, before the request that caused them is answered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from rocketns.processor.context import NamesrvContext, Now
from rocketns.routeinfo.events import Event
from rocketns.server.publishing.eventlog import log_events
from rocketns.server.publishing.lookup_switch import LookupSwitch
from rocketns.server.publishing.min_broker_notifier import MinBrokerNotifier
from rocketns.server.publishing.publisher import Publisher

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
