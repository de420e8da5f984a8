"""Asks one name server for one thing. Only requests that no name server takes as a sign of life of a broker."""

from __future__ import annotations

from rocketns.client.name_server import NOT_READY, NameServer, UnusableError, route_fields
from rocketns.client.signer import Fields
from rocketns.collect.polling.limits import ANSWER_BYTES_MAX
from rocketns.collect.polling.schedule import Ask, Kind
from rocketns.protocol.codes import RequestCode, ResponseCode

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


class RefusedError(UnusableError):
    """The name server answers, but not this request: by its policy, or because it does not know it."""


async def read(server: NameServer, ask: Ask) -> bytes | None:
    """The body of the answer, None: it says that there is no such thing. UnusableError, RefusedError among them."""
    code = CODES[ask.kind]
    answer = await server.ask(code, _fields(ask), None, ANSWER_BYTES_MAX[code])
    if answer.code == ResponseCode.SUCCESS:
        return bytes(answer.body or b"")
    if answer.code == NOTHING.get(ask.kind):
        return None
    # With enableAllTopicList=false Java answers SYSTEM_ERROR. Nothing waits for settings that cannot be read.
    if answer.code in REFUSALS or (ask.kind in MAY_LACK and answer.code not in BUSY):
        raise RefusedError(f"it refuses request {int(code)} with code {answer.code}")
    reason = NOT_READY.get(answer.code)
    raise UnusableError(f"it answered request {int(code)} with code {answer.code}{f': {reason}' if reason else ''}")


def _fields(ask: Ask) -> Fields:
    if ask.kind is Kind.ROUTE:
        return route_fields(ask.name)
    return {"namespace": ask.name} if ask.kind is Kind.KV else {}
