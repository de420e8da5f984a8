"""Whether the server is ready for requests, and the drain."""

from __future__ import annotations

from rocketns.controller import NamesrvController
from rocketns.processor import client


def why_not_ready(controller: NamesrvController) -> str | None:
    """Any thread. None if lookups are answered from complete tables, and the server wants to be asked."""
    if controller.context.restoring:
        return "the routes are being restored"
    if not controller.stalls.has_begun:
        return "it starts"
    if controller.context.going_away:
        return "it drains"
    is_ready = client.is_ready(controller.context, controller.clock.now())
    return None if is_ready else "waitSecondsForService is not over"


def drain(controller: NamesrvController, *, begins: bool) -> None:
    """Control only. Begin or end the drain."""
    controller.context.go_away() if begins else controller.context.stay()
    controller.lookup_switch.update(controller.clock.now())
