"""Where an attack is played, by whom, and its outcome: the policy of the servers, the scene, a row and its cell."""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from tests.behaviour.calls import settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import perms, route
from tests.support.tlsclient import TlsClient

CLASSES = ("lookup", "read", "scan", "config", "broker", "admin")
FLEET = "127.0.0.1"  # brokers and operators
STRANGER = "127.0.0.2"  # a client's host: it may look up routes
OTHER_BROKER = "127.0.0.3"  # another broker of the fleet, which owns no group of others
UNKNOWN = "127.0.0.5"  # the policy does not name it
BOUND_BROKER = "127.0.0.4"  # a broker that may register names of its own only

# Access key → secret. They differ in what else their principals need, and in what they may do.
KEYS = {name: f"secret-of-{name}" for name in ("alone", "here", "shown", "looker")}
CERTIFICATE = "operator"
PRINCIPALS = f"""
[principals.clients]
networks = ["{STRANGER}"]
may = ["lookup"]

[principals.fleet]
networks = ["{FLEET}"]
may = ["read", "scan", "config", "broker", "admin"]
owns = ["*"]

[principals.other-broker]
networks = ["{OTHER_BROKER}"]
may = ["broker"]

[principals.bound-broker]
networks = ["{BOUND_BROKER}"]
may = ["broker"]
broker_names = ["own-*"]

[principals.by-key-alone]
keys = ["alone"]
may = ["lookup", "read", "config", "admin"]

[principals.by-key-and-network]
keys = ["here"]
networks = ["{FLEET}"]
may = ["lookup", "read", "config", "admin"]

[principals.by-key-and-certificate]
keys = ["shown"]
certificates = ["CN={CERTIFICATE}"]
may = ["lookup", "read", "config", "admin"]

[principals.looks-up-only]
keys = ["looker"]
may = ["lookup"]
"""


def policy(mode: str) -> str:
    """The text of the policy file: all classes in one mode."""
    modes = "".join(f'{name} = "{mode}"\n' for name in (*CLASSES, "takeover"))
    keys = "".join(f'\n[keys.{name}]\nsecret = "{secret}"\n' for name, secret in KEYS.items())
    return f"[modes]\n{modes}{PRINCIPALS}{keys}"


def signed(key: str, ext: dict[str, str] | None = None, body: bytes = b"", *, secret: str = "") -> dict[str, str]:
    """The ext fields with those of a signature by this key. ``secret``: another one than the key's."""
    fields = (ext or {}) | {"AccessKey": key}
    content = "".join(value for _, value in sorted(fields.items())).encode() + body
    digest = hmac.digest((secret or KEYS[key]).encode(), content, "sha1")
    return fields | {"Signature": b64encode(digest).decode()}


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


SUCCEEDS = "**succeeds**"
CLOSED = "closed"
NOTHING = "nothing to send"
BLACK_LIST = "Can not update config in black list."

WORDS = {
    codes.SUCCESS: "no effect, code 0",
    codes.SYSTEM_BUSY: "refused, code 2",
    codes.REQUEST_CODE_NOT_SUPPORTED: "not answered by a name server, code 3",
    codes.NO_PERMISSION: "refused, code 16",
}


class Request(NamedTuple):
    """One request of an attack."""

    code: int
    ext: dict[str, str] | None = None
    body: bytes = b""


class Row(Protocol):
    """``name`` and ``does`` are the first two cells; ``play`` gives the text of the others, one for each server.

    Behind `` (`` a text may have a figure, which is not the same in each run. ``is_stopped``: whether ``enforce`` must
    stop it; None where that depends on more than the policy.
    """

    @property
    def name(self) -> str: ...

    @property
    def does(self) -> str: ...

    @property
    def is_stopped(self) -> bool | None: ...

    def play(self, scene: Scene) -> str: ...


def nothing(_: Scene) -> None:
    """There is nothing to undo."""


def stranger(scene: Scene) -> Client:
    """From an address whose clients may look up routes."""
    return scene.connect(STRANGER)


@dataclass(frozen=True)
class Attack:
    """Requests on one connection of ``peer``, each sent when the one before is answered.

    ``harm``: whether the attack succeeded, seen by the fleet. ``undo``: of what other attacks would notice.
    """

    name: str
    does: str
    requests: Callable[[Scene], Iterable[Request]]
    harm: Callable[[Scene], bool]
    peer: Callable[[Scene], Client] = stranger
    undo: Callable[[Scene], None] = nothing
    is_stopped: bool | None = True

    def play(self, scene: Scene) -> str:
        """Send the requests, and say what became of them."""
        is_closed = False
        try:
            client = self.peer(scene)
            for request in self.requests(scene):
                scene.answers.append(client.request(*request))
        except ConnectionError:
            is_closed = True
        harmed = self.harm(scene)
        self.undo(scene)
        if harmed:
            return SUCCEEDS
        return CLOSED if is_closed else said(scene.answers)


def said(answers: list[Answer]) -> str:
    """Of an attack without success: what the first answer says that refuses something."""
    if not answers:
        return NOTHING
    answer = next((one for one in answers if one.code != codes.SUCCESS), answers[-1])
    if answer.remark == BLACK_LIST:
        return "refused by the black list, code 16"
    return WORDS.get(answer.code, f"refused, code {answer.code}")


def verdict(cell: str) -> str:
    """A cell without its figure."""
    return cell.partition(" (")[0]
