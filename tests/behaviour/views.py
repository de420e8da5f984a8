"""The name server's answers as Python values."""

from __future__ import annotations

import json
import re
from typing import Any

from interop.harness import codes
from interop.harness.wire import Answer, Client

# A string (skipped), or an unquoted number as key: default-mode JSON is not valid JSON.
_STRING_OR_BARE_KEY = re.compile(rb'"(?:[^"\\]|\\.)*"|([{,])(-?\d+):')


def loads(body: bytes | None) -> Any:
    """JSON of either dialect; numeric keys come back as strings."""
    assert body is not None, "no body"
    return json.loads(_STRING_OR_BARE_KEY.sub(_quote_key, body))


def _quote_key(match: re.Match[bytes]) -> bytes:
    return b'%b"%b":' % match.groups() if match[2] else match[0]


def ask_route(client: Client, topic: str | None, *, version: int = 513, **ext: Any) -> Answer:
    """GET_ROUTEINFO_BY_TOPIC; any answer."""
    fields = ext if topic is None else {"topic": topic} | ext
    return client.request(codes.GET_ROUTEINFO_BY_TOPIC, fields, version=version)


def route(client: Client, topic: str, *, version: int = 513, **ext: Any) -> Any:
    """The topic's TopicRouteData with sorted lists (their order is free), None where there is no route."""
    answer = ask_route(client, topic, version=version, **ext)
    if answer.code == codes.TOPIC_NOT_EXIST:
        return None
    assert answer.code == 0, answer.remark
    data = loads(answer.body)
    for key in ("brokerDatas", "queueDatas"):
        data[key].sort(key=lambda one: one["brokerName"])
    return data


def perms(client: Client, topic: str) -> dict[str, int]:
    """Broker name to permission in the topic's route; empty where there is no route."""
    data = route(client, topic)
    return {q["brokerName"]: q["perm"] for q in data["queueDatas"]} if data else {}


def queue(client: Client, topic: str) -> dict[str, Any]:
    """The one QueueData of a topic that only one broker has."""
    (only,) = route(client, topic)["queueDatas"]
    return dict(only)


def filter_servers(client: Client, topic: str) -> dict[str, list[str]]:
    """Broker address to filter servers in the topic's route."""
    return dict(route(client, topic)["filterServerTable"])


def cluster_info(client: Client) -> Any:
    answer = client.request(codes.GET_BROKER_CLUSTER_INFO)
    assert answer.code == 0
    return loads(answer.body)


def group(client: Client, broker: str) -> Any:
    """The broker name's BrokerData, None where there is no group."""
    return cluster_info(client)["brokerAddrTable"].get(broker)


def addrs(client: Client, broker: str) -> dict[str, str] | None:
    """Broker id (as text) to address, None where there is no group."""
    data = group(client, broker)
    return None if data is None else data["brokerAddrs"]


def members(client: Client, cluster: str) -> list[str] | None:
    """The cluster's broker names sorted, None where there is no such cluster. A null comes last."""
    listed = cluster_info(client)["clusterAddrTable"].get(cluster)
    return None if listed is None else sorted(listed, key=lambda name: (name is None, name))


def topic_list(client: Client, code: int, **ext: str) -> list[str]:
    """The sorted topicList of one of the topic list requests."""
    answer = client.request(code, ext or None)
    assert answer.code == 0, answer.remark
    return sorted(loads(answer.body)["topicList"])
