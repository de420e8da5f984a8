"""Where an attack is played: a server with a broker of the fleet, and names that no other attack uses."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from tests.behaviour.calls import settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import perms, route
from tests.hostile.attacks.policy import FLEET
from tests.support.tlsclient import TlsClient

TIMEOUT_S = 60.0


class Scene:
    """``fleet``: a connection from FLEET, on which the broker of ``names`` has registered the topics T and U.

    ``answers``: to the requests of the attack so far. A context manager.
    """

    def __init__(self, server: NameServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.names = Names()
        self.answers: list[Answer] = []
        self._ends = ExitStack()
        self.fleet = self.connect(FLEET)
        registered(self.fleet, self.names, version=data_version(state=1))

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def connect(self, source: str, *, tls: bool = False, before: bytes = b"", port: int = 0) -> Client:
        """A connection from this address that sends ``before`` first. It ends with the scene."""
        make: Any = partial(TlsClient, before=before) if tls else Client
        client: Client = self._ends.enter_context(make(port or self.server.port, source=source, timeout_s=TIMEOUT_S))
        if before and not tls:
            client.send(before)
        return client

    @property
    def topic(self) -> str:
        return self.names.topic("T")

    def permission(self) -> int | None:
        """Of the topic at the fleet's broker; None where that has no queue of it."""
        return perms(self.fleet, self.topic).get(self.names.broker)

    def addresses(self) -> set[str]:
        """All addresses in the topic's route."""
        data = route(self.fleet, self.topic) or {"brokerDatas": []}
        return {address for one in data["brokerDatas"] for address in one["brokerAddrs"].values()}

    def setting(self, name: str) -> str | None:
        """A property as request 319 shows it to the fleet."""
        return settings(self.fleet).get(name)
