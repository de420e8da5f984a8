"""Whether a name server, Java's or rocketns, answers route look-ups: the check of `/readyz` by the protocol."""

from __future__ import annotations

from rocketns.protocol.codes import RequestCode, ResponseCode
from rocketns.server.outgoing.name_server import NameServer

# A topic that no broker has. "Topic not exist" is the answer of a name server that is ready.
TOPIC = "rocketns-health"
NOT_READY: dict[int, str] = {
    ResponseCode.SYSTEM_ERROR: "it starts, or waits for its brokers",
    ResponseCode.SYSTEM_BUSY: "it is overloaded",
    ResponseCode.GO_AWAY: "it drains, or stops",
}


async def why_not_ready(server: NameServer) -> str | None:
    """None if it is ready. UnusableError if it does not answer, or not as a name server does.

    It is not ready while it restores its routes, during ``waitSecondsForService``, while it drains, and if it is
    overloaded.
    """
    answer = await server.ask(
        RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC}, {ResponseCode.TOPIC_NOT_EXIST, *NOT_READY}
    )
    return NOT_READY.get(answer.code)
