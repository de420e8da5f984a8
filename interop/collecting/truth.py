"""What each name server really showed, and when: asked directly, twenty times a second."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple

from interop.audit.deployment import now_ms
from interop.collecting.cluster import TOPIC
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour import views

ASK_EVERY_S = 0.05

# Broker → permission in the topic's route.
Shown = dict[str, int]


class Change(NamedTuple):
    """A name server answered something else than before: not yet at ``after``, and at ``until`` it did (epoch ms)."""

    after: int
    until: int
    shown: Shown


class Truth:
    """Asks for the route of the topic until ``stop``. The first of a name server's ``changes`` is its beginning."""

    def __init__(self, servers: Mapping[str, NameServer]) -> None:
        self.changes: dict[str, list[Change]] = {name: [] for name in servers}
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._watch, args=item, daemon=True) for item in servers.items()]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    close = stop

    def shown(self, name: str) -> Shown:
        """What a name server answered last; nothing before its first answer."""
        changes = self.changes[name]
        return changes[-1].shown if changes else {}

    def _watch(self, name: str, server: NameServer) -> None:
        with server.connect() as client:
            asked = now_ms()
            while not self._over.wait(ASK_EVERY_S):
                asked = self._look(name, client, asked)

    def _look(self, name: str, client: Client, before: int) -> int:
        """Ask once; returns when it was asked. What was answered held at some moment between question and answer."""
        asked = now_ms()
        # Nobody looks up a topic without brokers: the audit would find a topic that is missing.
        shown = views.perms(client, TOPIC) if views.cluster_info(client)["brokerAddrTable"] else {}
        if not self.changes[name] or self.changes[name][-1].shown != shown:
            self.changes[name].append(Change(before, now_ms(), shown))
        return asked
