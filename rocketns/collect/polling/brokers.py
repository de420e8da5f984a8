"""Asks brokers that vanished from a name server whether they still run (``--brokers``): request 28, once.

Addresses are those that name servers showed, so a hostile one chooses them: few are asked, soon given up, and sent no
signature. A broker that wants one answers with an error, which is an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from rocketns.client.connection import NotSentError, RefusedError
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.polling.schedule import Budget
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_request

GET_BROKER_RUNTIME_INFO = 28  # a request of brokers
ANSWER_BYTES_MAX = 1024 * 1024
# Addresses that one answer of a name server may let be asked, how many in a second, and how long that may take.
ASKED_AT_ONCE_MAX = 64
ASKS_PER_SECOND = 50
WITHIN_S = 3.0  # as of Java's clients; a busy broker's first answer to 28 takes a second and more
# Several name servers lose a broker within seconds: it is asked once.
REMEMBERED_S = 10.0
REMEMBERED_MAX = 1_024
ANSWERED, REFUSED, SILENT = "answered", "refused", "silent"


class Brokers:
    """Shared by all name servers of a collector."""

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
            await self._client.invoke(addr, opaque, frame, within_s, ANSWER_BYTES_MAX)
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
