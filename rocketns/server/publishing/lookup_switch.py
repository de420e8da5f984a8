"""Whether the reactors answer route lookups by themselves."""

from __future__ import annotations

from rocketns._fast.reactor.reactors import Reactors
from rocketns.processor import client
from rocketns.processor.context import NamesrvContext, Now


class LookupSwitch:
    """The reactors read nothing but the route slots. While anything else affects the answers, control gives them."""

    def __init__(self, context: NamesrvContext, reactors: Reactors) -> None:
        self._context = context
        self._reactors = reactors
        self._is_on = False
        self._may_be_on = True

    def update(self, now: Now) -> None:
        """Call this after every possible change of a property, and periodically: ``needWaitForService`` has an end."""
        self._reactors.limit_idle(self._context.configuration.netty.idle_ms_max)
        on = self._may_be_on and self._tables_decide and client.is_ready(self._context, now)
        if on is not self._is_on:
            self._is_on = on
            self._reactors.enable(on)

    def turn_off(self) -> None:
        """For good, at the next `update`."""
        self._may_be_on = False

    @property
    def _tables_decide(self) -> bool:
        context = self._context
        return not (context.going_away or context.cluster_test or context.configuration.namesrv.order_message_enable)
