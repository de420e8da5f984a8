"""Queries of a name server's state. Each uses a new connection, so they can be polled across restarts."""

from __future__ import annotations

from typing import Any

from interop.harness import codes
from interop.harness.rocketmq.brokers import Broker
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.behaviour import views


def brokers(server: NameServer) -> dict[str, dict[int, str]]:
    """Broker name → id → address of every registered broker."""
    with server.connect() as client:
        table = views.cluster_info(client)["brokerAddrTable"]
    return {name: _by_id(data["brokerAddrs"]) for name, data in table.items()}


def have_registered(broker: Broker, *servers: NameServer, address: str = "") -> None:
    """Wait until each of the name servers shows the broker under its id, with its own address unless one is given.
    Make it register until then: by itself it may wait ten seconds after its boot."""

    def shown() -> bool:
        found = [brokers(server).get(broker.name, {}).get(broker.broker_id) for server in servers]
        if not (same := set(found) == {address or broker.address}):
            broker.ask_to_register()
        return same

    eventually(shown, broker.registered_within_s, every_s=0.2)


def addresses(server: NameServer, topic: str) -> dict[str, dict[int, str]]:
    """Broker name → id → address of a topic's route; empty where there is no route."""
    with server.connect() as client:
        data = views.route(client, topic) or {"brokerDatas": []}
    return {b["brokerName"]: _by_id(b["brokerAddrs"]) for b in data["brokerDatas"]}


def perms(server: NameServer, topic: str) -> dict[str, int]:
    """Broker name → permission bits in the topic's route; empty where there is no route."""
    with server.connect() as client:
        return views.perms(client, topic)


def routes(server: NameServer) -> dict[str, Any]:
    """The route of every topic that the name server lists."""
    with server.connect() as client:
        topics = views.topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        return {topic: views.route(client, topic) for topic in topics}


def kv(server: NameServer, namespace: str, key: str) -> str | None:
    """A KV value, None where there is none."""
    with server.connect() as client:
        answer = client.request(codes.GET_KV_CONFIG, {"namespace": namespace, "key": key})
    return (answer.ext or {}).get("value") if answer.code == 0 else None


def configuration(server: NameServer) -> dict[str, str]:
    """What GET_NAMESRV_CONFIG shows."""
    with server.connect() as client:
        answer = client.request(codes.GET_NAMESRV_CONFIG)
    assert answer.code == 0, answer.remark
    return dict(line.split("=", 1) for line in (answer.body or b"").decode().splitlines())


def _by_id(addrs: dict[str, str]) -> dict[int, str]:
    return {int(broker_id): address for broker_id, address in addrs.items()}
