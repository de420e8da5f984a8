"""Peers of a name server."""

from __future__ import annotations

from rocketns.addresses import host_of
from rocketns.routeinfo.connection import Connection


class Peer(Connection):
    """The parts of a `rocketns.routeinfo.connection.Connection` that a view is chosen by."""

    def __init__(
        self, address: str, *, announced_by: str | None = None, listener: int = 0, is_broker: bool = False
    ) -> None:
        """``announced_by``: the host of the socket behind which a PROXY header announced the address."""
        super().__init__(address, announced_by or host_of(address), 0, is_announced=announced_by is not None)
        self.listener, self.is_broker = listener, is_broker
