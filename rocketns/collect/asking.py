"""Asks a name server for one thing, and brokers that vanished from one whether they still run.

Only requests that no name server takes as a sign of life of a broker. All that comes is hostile, and bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from rocketns.client.connection import NotSentError, RefusedError
from rocketns.client.name_server import NOT_READY, Fields, NameServer, UnusableError, route_fields
from rocketns.client.remoting_client import RemotingClient
from rocketns.protocol.codes import RequestCode, ResponseCode, SerializeType
from rocketns.protocol.encoding import encode_request

MIB = 1024 * 1024
# What is asked for, and the bytes of one answer. A larger one ends the connection, and counts as no answer. Of 300
# brokers with ten topics a route has 63 KiB, the groups 43 KiB; a list of 200,000 topics has 6 MiB.
ANSWER_BYTES_MAX: dict[int, int] = {
    RequestCode.GET_BROKER_CLUSTER_INFO: 4 * MIB,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 12 * MIB,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: 4 * MIB,
    RequestCode.GET_KVLIST_BY_NAMESPACE: 4 * MIB,
    RequestCode.GET_NAMESRV_CONFIG: MIB,
}
# Answers that say that there is nothing.
NOTHING = frozenset({
    (RequestCode.GET_KVLIST_BY_NAMESPACE, ResponseCode.QUERY_NOT_FOUND),
    (RequestCode.GET_ROUTEINFO_BY_TOPIC, ResponseCode.TOPIC_NOT_EXIST),
})  # fmt: skip
REFUSALS = frozenset({ResponseCode.NO_PERMISSION, ResponseCode.REQUEST_CODE_NOT_SUPPORTED})
BUSY = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.GO_AWAY})


class Ask(NamedTuple):
    """One thing to look at, by the request that shows it. ``name``: the namespace or topic, where it has one."""

    code: RequestCode
    name: str = ""

    @property
    def is_lookup(self) -> bool:
        return self.code == RequestCode.GET_ROUTEINFO_BY_TOPIC

    @property
    def may_lack(self) -> bool:
        """Whether a name server is watched without it."""
        return self != GROUPS and not self.is_lookup

    @property
    def fields(self) -> Fields:
        """Those of the request."""
        if self.is_lookup:
            return route_fields(self.name)
        return {"namespace": self.name} if self.name else {}

    def __str__(self) -> str:
        if self == NAMES:
            return "list of topics"
        return f"KV namespace {self.name}" if self.name else "configuration"


GROUPS, NAMES = Ask(RequestCode.GET_BROKER_CLUSTER_INFO), Ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
CONFIGURATION = Ask(RequestCode.GET_NAMESRV_CONFIG)


class RequestRefusedError(UnusableError):
    """The name server answers, but not this request: by its policy, or because it does not know it."""


async def read(server: NameServer, ask: Ask) -> bytes | None:
    """The body of the answer, None: it says that there is no such thing. UnusableError, also RequestRefusedError."""
    answer = await server.ask(ask.code, ask.fields, None, ANSWER_BYTES_MAX[ask.code])
    if answer.code == ResponseCode.SUCCESS:
        return bytes(answer.body or b"")
    if (ask.code, answer.code) in NOTHING:
        return None
    # With enableAllTopicList=false Java answers SYSTEM_ERROR. Nothing waits for settings that cannot be read.
    if answer.code in REFUSALS or (ask.may_lack and answer.code not in BUSY):
        raise RequestRefusedError(f"it refuses request {int(ask.code)} with code {answer.code}")
    reason = NOT_READY.get(answer.code)
    raise UnusableError(f"it answered request {int(ask.code)} with code {answer.code}{f': {reason}' if reason else ''}")


GET_BROKER_RUNTIME_INFO = 28  # a request of brokers
# Addresses that one answer of a name server may let be asked, and how long that may take.
ASKED_AT_ONCE_MAX = 64
WITHIN_S = 3.0  # as of Java's clients; a busy broker's first answer to 28 takes a second and more
ANSWERED, REFUSED, SILENT = "answered", "refused", "silent"


async def ask_brokers(client: RemotingClient, addrs: Iterable[str]) -> dict[str, str]:
    """What each address says to request 28: answered, refused, silent (``--brokers``).

    Addresses are those that a name server showed, so a hostile one chooses them: few are asked, soon given up, and sent
    no signature. A broker that wants one answers with an error, which is an answer.
    """
    some = list(dict.fromkeys(addrs))[:ASKED_AT_ONCE_MAX]
    return dict(zip(some, await asyncio.gather(*(_said_by(client, addr) for addr in some)), strict=True))


async def _said_by(client: RemotingClient, addr: str) -> str:
    opaque, frame = encode_request(GET_BROKER_RUNTIME_INFO, {}, SerializeType.JSON)
    try:
        await client.invoke(addr, opaque, frame, WITHIN_S, MIB)
    except RefusedError:
        return REFUSED
    except NotSentError:
        return SILENT
    finally:
        client.disconnect(addr)
    return ANSWERED
