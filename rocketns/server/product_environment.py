"""Asks other name servers for routes of the product environment, in the cluster-test mode (DefaultMQAdminExt)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from rocketns.client.remoting_client import RemotingClient
from rocketns.errors import RocketnsError
from rocketns.logs import LogLimiter
from rocketns.processor.client import route_reply
from rocketns.protocol.body.decoding import decode_topic_route_data
from rocketns.protocol.body.route import TopicRouteData
from rocketns.protocol.codes import V5_5_0, RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.encoding import encode_request
from rocketns.server.turns import QUANTUM_NS, HostTurns

log = logging.getLogger("rocketns.product")

TIMEOUT_S = 5.0  # DefaultMQAdminExt
LOOKUPS_MAX = 1024  # that wait
# So few are sent at a time that a busy machine answers each before its time is up.
SENT_MAX = 32
# A larger route of a topic is not read.
ANSWER_BYTES_MAX = 4 * 1024 * 1024
# Of the ext fields of a lookup, which wait with it. A larger lookup is answered as if there were no route.
LOOKUP_CHARACTERS_MAX = 8 * 1024
LOG_EVERY_S = 1.0  # peers choose how many lookups fail

Answer = Callable[[Reply | None], None]
Show = Callable[[TopicRouteData], None]


@dataclass(slots=True, frozen=True, eq=False)
class _Lookup:
    topic: str
    host: str
    command: RemotingCommand
    answer: Answer
    show: Show | None


class ProductEnvironment:
    """``addresses`` are name servers, asked in turn until one answers."""

    def __init__(
        self, client: RemotingClient, addresses: list[str], serialize_type: SerializeType, version: int = V5_5_0
    ) -> None:
        self._client = client
        self._addresses = addresses
        self._serialize_type = serialize_type
        self._version = version
        self._turns: HostTurns[_Lookup] = HostTurns()
        self._sent: set[asyncio.Task[None]] = set()
        self._lines = LogLimiter(LOG_EVERY_S)

    def ask(self, command: RemotingCommand, host: str, answer: Answer, show: Show | None = None) -> None:
        """Call ``answer`` with the route as a reply, or with None if it cannot be found. Mostly later.

        ``show`` changes the addresses of the route to those that the asker gets.
        """
        topic = command.ext("topic")
        characters = sum(len(key) + len(value or "") for key, value in (command.ext_fields or {}).items())
        is_too_large = characters > LOOKUP_CHARACTERS_MAX
        if topic is None or not self._addresses or is_too_large or not self._make_room(host):
            answer(None)
            return
        lookup = _Lookup(topic, host, command, answer, show)
        self._turns.want(lookup, host)
        self._send()

    def _make_room(self, host: str) -> bool:
        """Whether one more of the host may wait. Where LOOKUPS_MAX do, the latest one of the host with most of them is
        answered, if this host has fewer.
        """
        if len(self._turns.wanting) < LOOKUPS_MAX:
            return True
        waiting = self._turns.by_host()
        most = max(waiting.values(), key=len)
        if len(most) <= len(waiting.get(host, ())) + 1:
            return False
        latest = next(reversed(most))
        self._turns.withdraw(latest)
        latest.answer(None)
        return True

    def _send(self) -> None:
        while self._turns.wanting and len(self._sent) < SENT_MAX:
            lookup = self._turns.next()
            self._turns.withdraw(lookup)
            self._turns.charge(QUANTUM_NS)
            task = asyncio.get_running_loop().create_task(self._ask(lookup))
            self._sent.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._sent.discard(task)
        if not task.cancelled():
            self._send()

    async def _ask(self, lookup: _Lookup) -> None:
        """Answer with the reply of the first name server that answers."""
        found = None
        for addr in self._addresses:
            try:
                found = await self._ask_one(addr, lookup)
            except RocketnsError as error:
                failures = self._lines.due(asyncio.get_running_loop().time())
                if failures is not None:
                    others = f" ({failures - 1} more failed since the last such line)" if failures > 1 else ""
                    log.info("get route info by topic from product environment failed: %s%s", error, others)
                continue
            except Exception:
                log.exception("the product environment's answer cannot be used")
            break
        lookup.answer(found)

    async def _ask_one(self, addr: str, lookup: _Lookup) -> Reply | None:
        fields: dict[str, str | None] = {"topic": lookup.topic, "acceptStandardJsonOnly": "true"}
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        opaque, frame = encode_request(code, fields, self._serialize_type, version=self._version)

        def read(response: RemotingCommand) -> Reply | None:
            if response.code != ResponseCode.SUCCESS or response.body is None:
                return None
            route = decode_topic_route_data(response.body)
            if lookup.show is not None:
                lookup.show(route)
            return route_reply(lookup.command, route, standard=False)

        return await self._client.invoke_reading(addr, opaque, frame, TIMEOUT_S, read, ANSWER_BYTES_MAX)
