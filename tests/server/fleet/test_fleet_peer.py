"""One reading of a peer in which every topic differs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.suspects import SUSPECTS_MAX, Suspects
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import DIGEST_BUCKETS, RequestCode
from rocketns.protocol.command import RemotingCommand
from rocketns.server.fleet.peer import Peer

TOPICS_OF_BUCKET = 40


class Other:
    """A rocketns whose digests all differ from those of `Own`."""

    addr = "10.0.0.9:1"

    async def route_body(self, _topic: str) -> None:
        """It has changed since."""

    async def ask(self, code: int, fields: dict[str, str], _also: object = ()) -> RemotingCommand:
        body: bytes = b'{"brokerAddrTable":{}}'
        if code == RequestCode.GET_ROUTE_DIGESTS:
            body = b"\1" * 8 * DIGEST_BUCKETS
        if "bucket" in fields:
            body = json.dumps({"table": {f"T-{fields['bucket']}-{n}": "1" for n in range(TOPICS_OF_BUCKET)}}).encode()
        return RemotingCommand(0, 513, 1, 1, {"topics": "10240"}, body)


class Own:
    async def groups(self) -> dict[str, GroupView]:
        return {}

    def buckets(self) -> bytes:
        return bytes(8 * DIGEST_BUCKETS)

    def topics(self, _bucket: int) -> dict[str, int]:
        return {}

    def topic(self, _topic: str) -> int | None:
        return None

    def queues(self, _topic: str) -> dict[str, QueueData]:
        return {}


@pytest.mark.parametrize("readings", [1, 2])
def test_the_topics_that_are_judged_are_as_few_as_may_be_suspected(
    readings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 10,000 were once compared with all suspects: 120 ms on control's thread. The same topics are judged again."""
    judged: list[str] = []
    judge = Suspects.judge

    def counting(self: Suspects, item: Item, *values: Any) -> None:
        judged.append(item.name)
        judge(self, item, *values)

    monkeypatch.setattr(Suspects, "judge", counting)
    peer = Peer(Other(), Own(), 1, lambda: 0)  # type: ignore[arg-type]
    for _ in range(readings):
        asyncio.run(peer.read())
    assert peer.member().error == ""
    assert peer.member().differing_topics == DIGEST_BUCKETS * TOPICS_OF_BUCKET
    assert judged == judged[:SUSPECTS_MAX] * readings
    assert len(list(peer.suspects.lasting())) == (0 if readings == 1 else SUSPECTS_MAX)
    assert len(peer.suspects.names(FactKind.TOPIC)) == SUSPECTS_MAX
