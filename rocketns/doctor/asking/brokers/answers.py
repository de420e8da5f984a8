"""The answers of one broker, kept as fields of BrokerFacts."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Callable, Container
from typing import Any, TypeVar

from rocketns.client.signer import Fields
from rocketns.doctor.asking.brokers.requests import BYTES_MAX, BrokerRequest
from rocketns.doctor.asking.call import Call, Timed, TooLargeError
from rocketns.errors import BodyDecodeError
from rocketns.protocol.codes import ResponseCode

Value = TypeVar("Value")
# A broker of 5.x gives so many of its topics, and the number of all (enableSplitMetadata). An older one gives all.
SOME_TOPICS: Fields = {"topicSeq": "0", "maxTopicNum": "1000"}
DIGITS_MAX = 9  # of a number of topics
TABLES = ("topics", "groups", "similar", "consumers", "consumption", "codes")


class Answers:
    """``found`` are fields of BrokerFacts. ``tables_at_once``: how many brokers may send whole tables.

    What cannot be decoded is left out, as if it was not answered.
    """

    def __init__(self, call: Call, tables_at_once: Semaphore) -> None:
        self._call, self._tables_at_once = call, tables_at_once
        self._tables: dict[BrokerRequest, bytes | None] = {}
        self.found: dict[str, Any] = {name: {} for name in TABLES}

    async def ask(self, code: BrokerRequest, fields: Fields, also: Container[int] = ()) -> Timed | None:
        """The answer, if its code is success or one of ``also``. UnreachedError: the broker answers no more."""
        timed = await self._call.ask(code, fields, BYTES_MAX[code])
        return timed if timed.answer.code in also or self.succeeded(code, timed) else None

    def succeeded(self, code: BrokerRequest, timed: Timed) -> bool:
        """Whether this answer is a success. Otherwise its code is kept."""
        if timed.answer.code != ResponseCode.SUCCESS:
            self.found["codes"][int(code)] = timed.answer.code
        return timed.answer.code == ResponseCode.SUCCESS

    async def groups(self) -> bytes | None:
        """All groups, asked for once. None: it does not say."""
        code = BrokerRequest.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
        if code not in self._tables:
            self._tables[code] = None  # also where the call ends
            async with self._tables_at_once:
                self._tables[code] = _body(await self.ask(code, {}))
        return self._tables[code]

    async def topics(self) -> bytes | None:
        """All topics of a broker before 5.0, and some of a newer one, asked for once. Their size is measured.

        None: it does not say.
        """
        code = BrokerRequest.GET_ALL_TOPIC_CONFIG
        if code not in self._tables:
            self._tables[code] = None
            try:
                async with self._tables_at_once:
                    timed = await self.ask(code, SOME_TOPICS)
            except TooLargeError as error:
                self.found["topics_bytes"] = error.size
                raise
            self._tables[code] = body = _body(timed)
            if timed is not None and body is not None:
                self.found |= _measured(body, timed.answer.ext("totalTopicNum"))
        return self._tables[code]

    def keep(self, name: str, body: bytes | None, decode: Callable[[bytes], object]) -> None:
        """A field."""
        value = decoded(body, decode)
        if value is not None:
            self.found[name] = value

    def keep_in(self, table: str, key: str, body: bytes | None, decode: Callable[[bytes], object]) -> None:
        """An entry of a field that is a mapping."""
        value = decoded(body, decode)
        if value is not None:
            self.found[table][key] = value


def _body(timed: Timed | None) -> bytes | None:
    return None if timed is None else timed.answer.body


def _measured(body: bytes, total: str | None) -> dict[str, int]:
    """The number of topics, and the bytes of all; of some of them by their mean."""
    here = body.count(b'"topicName":')
    if not here or total is None or not (total.isascii() and total.isdecimal() and len(total) <= DIGITS_MAX):
        return {"topics_bytes": len(body), "topics_count": here}
    count = max(int(total), here)
    return {"topics_bytes": len(body) * count // here, "topics_count": count}


def decoded(body: bytes | None, decode: Callable[[bytes], Value]) -> Value | None:
    """None where the body is not what was asked for."""
    try:
        return None if body is None else decode(body)
    except BodyDecodeError:
        return None
