"""Asks other name servers for routes of the product environment, in the cluster-test mode (DefaultMQAdminExt)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rocketns.client.remoting_client import RemotingClient
from rocketns.errors import RocketnsError
from rocketns.processor.client import route_reply
from rocketns.protocol.body.route_decoding import decode_topic_route_data
from rocketns.protocol.codes import V5_5_0, RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.protocol.encoding import encode_request

log = logging.getLogger("rocketns.product")

TIMEOUT_S = 5.0  # DefaultMQAdminExt
LOOKUPS_MAX = 1024
# A larger route of a topic is not read.
ANSWER_BYTES_MAX = 4 * 1024 * 1024

Answer = Callable[[Reply | None], None]


class ProductEnvironment:
    """``addresses`` are name servers, asked in turn until one answers."""

    def __init__(
        self, client: RemotingClient, addresses: list[str], serialize_type: SerializeType, version: int = V5_5_0
    ) -> None:
        self._client = client
        self._addresses = addresses
        self._serialize_type = serialize_type
        self._version = version
        self._asking: set[asyncio.Task[None]] = set()

    def ask(self, command: RemotingCommand, answer: Answer) -> None:
        """Call ``answer`` with the route as a reply, or with None if it cannot be found. Mostly later."""
        topic = command.ext("topic")
        if topic is None or not self._addresses or len(self._asking) >= LOOKUPS_MAX:
            answer(None)
            return
        task = asyncio.get_running_loop().create_task(self._ask(topic, command, answer))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, topic: str, command: RemotingCommand, answer: Answer) -> None:
        found = None
        try:
            found = await self._first_answer(topic, command)
        except Exception:
            log.exception("the product environment's answer cannot be used")
        answer(found)

    async def _first_answer(self, topic: str, command: RemotingCommand) -> Reply | None:
        """The reply of the first name server that answers."""
        for addr in self._addresses:
            try:
                return await self._ask_one(addr, topic, command)
            except RocketnsError as error:
                log.info("get route info by topic from product environment failed: %s", error)
        return None

    async def _ask_one(self, addr: str, topic: str, command: RemotingCommand) -> Reply | None:
        fields: dict[str, str | None] = {"topic": topic, "acceptStandardJsonOnly": "true"}
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        opaque, frame = encode_request(code, fields, self._serialize_type, version=self._version)

        def read(response: RemotingCommand) -> Reply | None:
            if response.code != ResponseCode.SUCCESS or response.body is None:
                return None
            return route_reply(command, decode_topic_route_data(response.body), standard=False)

        return await self._client.invoke_reading(addr, opaque, frame, TIMEOUT_S, read, ANSWER_BYTES_MAX)
