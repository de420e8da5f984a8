"""Asks a name server for one thing, and brokers that vanished from one whether they still run.

Only requests that no name server takes as a sign of life of a broker. All that comes is hostile, and bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from rocketns.client.connection import NotSentError, RefusedError
from rocketns.client.name_server import NOT_READY, Fields, NameServer, UnusableError, route_fields
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.schedule import Ask, Budget, Kind
from rocketns.protocol.codes import RequestCode, ResponseCode, SerializeType
from rocketns.protocol.encoding import encode_request

MIB = 1024 * 1024
# Bytes of one answer. A larger one ends the connection, and counts as no answer. Of 300 brokers with ten topics a route
# has 63 KiB, the groups 43 KiB; a list of 200,000 topics has 6 MiB.
ANSWER_BYTES_MAX: dict[int, int] = {
    RequestCode.GET_BROKER_CLUSTER_INFO: 4 * MIB,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 12 * MIB,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: 4 * MIB,
    RequestCode.GET_KVLIST_BY_NAMESPACE: 4 * MIB,
    RequestCode.GET_NAMESRV_CONFIG: MIB,
}
CODES = {
    Kind.GROUPS: RequestCode.GET_BROKER_CLUSTER_INFO,
    Kind.NAMES: RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    Kind.KV: RequestCode.GET_KVLIST_BY_NAMESPACE,
    Kind.CONFIGURATION: RequestCode.GET_NAMESRV_CONFIG,
    Kind.ROUTE: RequestCode.GET_ROUTEINFO_BY_TOPIC,
}
# Answers that say that there is nothing.
NOTHING = {Kind.KV: ResponseCode.QUERY_NOT_FOUND, Kind.ROUTE: ResponseCode.TOPIC_NOT_EXIST}
REFUSALS = frozenset({ResponseCode.NO_PERMISSION, ResponseCode.REQUEST_CODE_NOT_SUPPORTED})
BUSY = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.GO_AWAY})
# What a name server is watched without.
MAY_LACK = frozenset({Kind.NAMES, Kind.KV, Kind.CONFIGURATION})


class RequestRefusedError(UnusableError):
    """The name server answers, but not this request: by its policy, or because it does not know it."""


async def read(server: NameServer, ask: Ask) -> bytes | None:
    """The body of the answer, None: it says that there is no such thing. UnusableError, also RequestRefusedError."""
    code = CODES[ask.kind]
    answer = await server.ask(code, _fields(ask), None, ANSWER_BYTES_MAX[code])
    if answer.code == ResponseCode.SUCCESS:
        return bytes(answer.body or b"")
    if answer.code == NOTHING.get(ask.kind):
        return None
    # With enableAllTopicList=false Java answers SYSTEM_ERROR. Nothing waits for settings that cannot be read.
    if answer.code in REFUSALS or (ask.kind in MAY_LACK and answer.code not in BUSY):
        raise RequestRefusedError(f"it refuses request {int(code)} with code {answer.code}")
    reason = NOT_READY.get(answer.code)
    raise UnusableError(f"it answered request {int(code)} with code {answer.code}{f': {reason}' if reason else ''}")


def _fields(ask: Ask) -> Fields:
    if ask.kind is Kind.ROUTE:
        return route_fields(ask.name)
    return {"namespace": ask.name} if ask.kind is Kind.KV else {}


GET_BROKER_RUNTIME_INFO = 28  # a request of brokers
RUNTIME_BYTES_MAX = MIB
# Addresses that one answer of a name server may let be asked, how many in a second, and how long that may take.
ASKED_AT_ONCE_MAX = 64
ASKS_PER_SECOND = 50
WITHIN_S = 3.0  # as of Java's clients; a busy broker's first answer to 28 takes a second and more
# Several name servers lose a broker within seconds: it is asked once.
REMEMBERED_S = 10.0
REMEMBERED_MAX = 1_024
ANSWERED, REFUSED, SILENT = "answered", "refused", "silent"


class Brokers:
    """Asked by request 28, once (``--brokers``); shared by all name servers of a collector.

    Addresses are those that name servers showed, so a hostile one chooses them: few are asked, soon given up, and sent
    no signature. A broker that wants one answers with an error, which is an answer.
    """

    def __init__(self, client: RemotingClient) -> None:
        self._client = client
        self._budget = Budget(ASKS_PER_SECOND)
        self._said: dict[str, tuple[float, str]] = {}

    async def ask(self, addrs: Iterable[str]) -> dict[str, str]:
        """What each address said: answered, refused, silent. Those that there was no time to ask are left out."""
        some = list(dict.fromkeys(addrs))[:ASKED_AT_ONCE_MAX]
        said = await asyncio.gather(*(self._one(addr) for addr in some))
        return {addr: word for addr, word in zip(some, said, strict=True) if word is not None}

    async def _one(self, addr: str) -> str | None:
        loop = asyncio.get_running_loop()
        at_s, word = self._said.get(addr, (float("-inf"), ""))
        if loop.time() - at_s < REMEMBERED_S:
            return word
        wait_s = self._budget.wait_s(loop.time())
        if wait_s >= WITHIN_S:
            return None
        self._budget.spend(loop.time())
        await asyncio.sleep(wait_s)
        word = await self._said_by(addr, WITHIN_S - wait_s)
        self._remember(addr, word)
        return word

    async def _said_by(self, addr: str, within_s: float) -> str:
        opaque, frame = encode_request(GET_BROKER_RUNTIME_INFO, {}, SerializeType.JSON)
        try:
            await self._client.invoke(addr, opaque, frame, within_s, RUNTIME_BYTES_MAX)
        except RefusedError:
            return REFUSED
        except NotSentError:
            return SILENT
        finally:
            self._client.disconnect(addr)
        return ANSWERED

    def _remember(self, addr: str, word: str) -> None:
        self._said.pop(addr, None)
        self._said[addr] = asyncio.get_running_loop().time(), word
        if len(self._said) > REMEMBERED_MAX:
            del self._said[next(iter(self._said))]
