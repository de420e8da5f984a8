"""A name server with a policy and the broker that it knows, and ways to it from addresses of their own."""

from __future__ import annotations

import itertools
import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from interop.harness.relay import Relay
from interop.harness.rocketmq.admin import Admin
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import eventually

TOPIC = "Guarded"
# Of single messages: who counts those of TOPIC does not meet them.
STRAY_TOPIC = "Guarded-stray"
REGISTERED = "new broker registered, BrokerIdentityInfo .*brokerAddr={}]"
_numbers = itertools.count(1)
BROKERS, CLIENTS, PROXIES, OPERATORS = "inner-brokers", "clients", "proxies", "operators"
SECRETS = {key: f"secret-of-{key}" for key in (BROKERS, CLIENTS, PROXIES, OPERATORS)}
CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")
# The address that the brokers of RocketMQ 4 come from: they cannot sign.
OLD_BROKERS_HOST = "127.0.0.2"
NAMESPACE = "interop"

POLICY = f"""
secrets = "secrets"

[principals.brokers]
keys = ["{BROKERS}"]
may = ["broker"]
broker_names = ["broker-*"]

[principals.old-brokers]
networks = ["{OLD_BROKERS_HOST}"]
may = ["broker"]
broker_names = ["old-*"]

[principals.clients]
keys = ["{CLIENTS}", "{PROXIES}"]
may = ["lookup"]

[principals.operators]
keys = ["{OPERATORS}"]
networks = ["127.0.0.1"]
may = ["lookup", "read", "scan", "config", "admin"]
kv_namespaces = ["{NAMESPACE}", "ORDER_TOPIC_CONFIG"]
"""


def credentials(key: str) -> str:
    """As brokers from 5.3 and the proxy take them, in JSON."""
    return json.dumps({"accessKey": key, "secretKey": SECRETS[key]})


# What a broker from 5.3 signs with whatever it sends to name servers. It keeps the user, so it wants to know where.
SIGNING_BROKER = {
    "authenticationMetadataProvider": (
        "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
    ),
    "innerClientAuthenticationCredentials": credentials(BROKERS),
}
# Its credentials alone sign nothing.
SIGNING_PROXY = {
    "enableAclRpcHookForClusterMode": True,
    "innerClientAuthenticationCredentials": credentials(PROXIES),
}
SIGNING_PROGRAM = {"INTEROP_ACCESS_KEY": CLIENTS, "INTEROP_SECRET_KEY": SECRETS[CLIENTS]}


def signs_as(key: str, secret: str = "") -> tuple[str, ...]:
    """Options of a Java client."""
    return f"-Dinterop.accessKey={key}", f"-Dinterop.secretKey={secret or SECRETS[key]}"


def write_policy(folder: Path, mode: str, text: str = POLICY) -> dict[str, object]:
    """The files of a policy with one mode for all classes, and the property that names them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "secrets").write_text("".join(f"{key} {secret}\n" for key, secret in SECRETS.items()), "utf-8")
    modes = "".join(f'{access} = "{mode}"\n' for access in CLASSES) + 'takeover = "observe"\n'
    (folder / "access.toml").write_text(f"{text}\n[modes]\n{modes}", "utf-8")
    return {"rocketns.accessFile": folder / "access.toml"}


def give_keys(admin: Admin) -> Admin:
    """mqadmin signs with the keys of ``conf/tools.yml``."""
    folder = admin.java.home / "conf"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tools.yml").write_text(f"accessKey: {OPERATORS}\nsecretKey: {SECRETS[OPERATORS]}\n", "utf-8")
    return admin


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
