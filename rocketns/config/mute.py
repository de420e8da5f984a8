"""Whether the server acts, or only answers: as the own half of `rocketns shadow`."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import Effect, OwnConfig, prop


@dataclass(slots=True)
class MuteConfig(OwnConfig):
    """What others than the asking peers notice."""

    title = "Mute"

    mute: bool = prop(
        False, "answer as always, and do nothing else that others notice: no connection to brokers or other name "
        "servers, no notification, no routes from seedServers, no address server, and changes of KV items and "
        "properties in memory alone. `rocketns shadow` sets it", Effect.START,
    )  # fmt: skip
