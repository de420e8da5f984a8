"""The server in front of which the shadow is: its address, and whether it takes connections."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rocketns.addresses import with_port

log = logging.getLogger("rocketns.shadow")


@dataclass(slots=True)
class Upstream:
    """``is_down`` from a connection that failed to the next one that is opened."""

    host: str
    port: int
    is_down: bool = False

    def __str__(self) -> str:
        return with_port(self.host, self.port)

    def note(self, why: str | None) -> bool:
        """A connection was opened, or was not: ``why``. Whether that is new."""
        was, self.is_down = self.is_down, why is not None
        if was == self.is_down:
            return False
        if self.is_down:
            log.warning("the upstream %s takes no connections: %s", self, why)
        else:
            log.info("the upstream %s takes connections", self)
        return True
