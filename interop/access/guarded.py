"""A name server with a policy and the broker that it knows, and ways to it from addresses of their own."""

from __future__ import annotations

import itertools
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from interop.access.policies import POLICY, write_policy
from interop.harness.relay import Relay
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import eventually

TOPIC = "Guarded"
REGISTERED = "new broker registered, BrokerIdentityInfo .*brokerAddr={}]"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Guarded:
    """``policy``: the folder of its files. Between tests all classes are enforced."""

    server: NameServer
    broker: Broker
    policy: Path
    text: str = POLICY

    @contextmanager
    def observed(self) -> Iterator[None]:
        """Until the end all classes are observed."""
        self._follow("observe")
        try:
            yield
        finally:
            self._follow("enforce")

    def _follow(self, mode: str) -> None:
        line = f"access keys; lookup {mode},"
        times = self.server.process.text().count(line)
        write_policy(self.policy, mode, self.text)
        self.server.process.signal(signal.SIGHUP)
        eventually(lambda: self.server.process.text().count(line) > times)


@dataclass(frozen=True)
class Way:
    """A way to the name server from a host of this machine that is nobody else's: the log tells its requests apart."""

    server: NameServer
    relay: Relay
    host: str

    @classmethod
    def to(cls, server: NameServer, fleet: Fleet, host: str = "") -> Way:
        host = host or f"127.0.1.{next(_numbers)}"
        return cls(server, fleet.relay(server.port, host), host)

    def was_refused(self, access: str, reason: str = "no_evidence") -> None:
        """Wait until the log says that a request of this class was refused."""
        self._was_told_of("refused", access, reason)

    def would_be_refused(self, access: str, reason: str = "no_evidence") -> None:
        """Wait until the log says that a request of this class would be refused, and so was answered."""
        self._was_told_of("would refuse", access, reason)

    def told(self, verb: str) -> list[str]:
        """The classes of all requests of which the log says so for lack of evidence, each kind of request once."""
        return re.findall(self._line(verb, r"(\w+)", "no_evidence"), self.server.process.text())

    def _was_told_of(self, verb: str, access: str, reason: str) -> None:
        self.server.process.wait_for(self._line(verb, access, reason))

    def _line(self, verb: str, access: str, reason: str) -> str:
        return rf"{verb} request \d+ \(\w+\) of class {access} of {re.escape(self.host)}, .*: {reason};"


def has_registered(broker: Broker, server: NameServer) -> None:
    """Wait until the name server's log says so, for it answers no unsigned question. The broker is made to hurry."""

    def told() -> bool:
        if not (found := was_registered(broker, server)):
            broker.ask_to_register()
        return found

    eventually(told, broker.registered_within_s, every_s=0.5)


def was_registered(broker: Broker, server: NameServer) -> bool:
    return re.search(REGISTERED.format(re.escape(broker.address)), server.process.text()) is not None
