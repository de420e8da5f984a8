"""Requests of a broker, one function for each. A broker is ``names`` plus a host number and a broker id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interop.harness import codes
from interop.harness.payloads import dumps, register_body, register_ext, topic_config
from interop.harness.wire import Answer, Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.views import group

# A short name ("T") or a whole TopicConfig.
Topic = str | dict[str, Any]
TWO_TOPICS = ("T", "U")


def configs(names: Names, topics: Iterable[Topic], **settings: int) -> list[dict[str, Any]]:
    """TopicConfigs; short names become the test's own topics with the settings (perm=, read=, flag= …)."""
    return [topic_config(names.topic(t), **settings) if isinstance(t, str) else t for t in topics]


def register(
    client: Client,
    names: Names,
    topics: Iterable[Topic] = TWO_TOPICS,
    *,
    version: dict[str, int] | None = None,
    filters: list[str] | None = (),  # type: ignore[assignment]
    mapping: dict[str, Any] | None = None,
    perm: int = 6,
    **fields: Any,
) -> Answer:
    """REGISTER_BROKER with a plain RegisterBrokerBody; ``fields`` as of ``register_with``."""
    body = register_body(configs(names, topics, perm=perm), version, filters=filters, mapping=mapping)
    return register_with(client, names, body, **fields)


def register_with(
    client: Client,
    names: Names,
    body: bytes,
    *,
    host: int = 1,
    broker_id: int = 0,
    peer_version: int = 513,
    **ext: Any,
) -> Answer:
    """REGISTER_BROKER with a body of any content; ``ext`` adds header fields, a value of None removes one."""
    fields = register_ext(names.cluster, names.broker, names.addr(host), broker_id, body, **ext)
    return client.request(codes.REGISTER_BROKER, fields, body, version=peer_version)


def registered(client: Client, names: Names, topics: Iterable[Topic] = TWO_TOPICS, **more: Any) -> Answer:
    """``register``; the answer must be a success."""
    answer = register(client, names, topics, **more)
    assert (answer.code, answer.remark) == (0, None)
    return answer


def assert_decode_failed(answer: Answer) -> None:
    """The answer to a registration whose body cannot be read; in Java's remark a stack frame follows."""
    assert (answer.code, answer.ext) == (1, None)
    exception = "org.apache.rocketmq.remoting.exception.RemotingCommandException"
    assert (answer.remark or "").startswith(f"{exception}: Failed to decode RegisterBrokerBody"), answer.remark


def unregister_ext(names: Names, host: int = 1, broker_id: int = 0, **ext: Any) -> dict[str, str]:
    """extFields of UNREGISTER_BROKER; a value of None removes the field."""
    fields = {
        "brokerName": names.broker,
        "brokerAddr": names.addr(host),
        "clusterName": names.cluster,
        "brokerId": str(broker_id),
    } | ext
    return {k: str(v) for k, v in fields.items() if v is not None}


def unregister(client: Client, names: Names, host: int = 1, broker_id: int = 0, **ext: Any) -> Answer:
    return client.request(codes.UNREGISTER_BROKER, unregister_ext(names, host, broker_id, **ext))


def settle(client: Client) -> None:
    """Wait until every earlier unregistration has been applied: a later one has taken effect.

    It is requested again until it has, because a bad request makes Java drop the rest of its batch.
    """
    barrier = Names()
    registered(client, barrier, ())

    def is_gone() -> bool:
        assert unregister(client, barrier).code == 0
        return group(client, barrier.broker) is None

    eventually(is_gone)


def query_version(
    client: Client, names: Names, version: dict[str, int] | None = None, *, host: int = 1, **ext: Any
) -> Answer:
    """QUERY_DATA_VERSION; without a version it has no body."""
    body = dumps(version) if version else b""
    return client.request(codes.QUERY_DATA_VERSION, unregister_ext(names, host, **ext), body)


def heartbeat(client: Client, names: Names, *, host: int = 1, **ext: Any) -> Answer:
    return client.request(codes.BROKER_HEARTBEAT, unregister_ext(names, host, **ext))
