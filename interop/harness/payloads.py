"""Bodies and headers of brokers: RegisterBrokerBody, DataVersion, RegisterBrokerRequestHeader."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any


def data_version(counter: int = 1, timestamp: int = 1_700_000_000_000, state: int = 0) -> dict[str, int]:
    return {"counter": counter, "stateVersion": state, "timestamp": timestamp}


def topic_config(name: str, read: int = 8, write: int = 8, perm: int = 6, flag: int = 0) -> dict[str, Any]:
    return {
        "attributes": {},
        "order": False,
        "perm": perm,
        "readQueueNums": read,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": flag,
        "writeQueueNums": write,
    }


def wrapper(
    topics: list[dict[str, Any]], version: dict[str, int] | None = None, mapping: dict[str, Any] | None = None
) -> dict[str, Any]:
    """TopicConfigAndMappingSerializeWrapper."""
    return {
        "dataVersion": version or data_version(),
        "topicConfigTable": {t["topicName"]: t for t in topics},
        "topicQueueMappingInfoMap": mapping or {},
    }


def dumps(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def register_body(
    topics: list[dict[str, Any]],
    version: dict[str, int] | None = None,
    *,
    filters: list[str] | None = (),  # type: ignore[assignment]
    mapping: dict[str, Any] | None = None,
) -> bytes:
    """RegisterBrokerBody as plain JSON; ``filters=None`` writes ``null`` (no statement)."""
    filter_list = None if filters is None else list(filters)
    return dumps({"filterServerList": filter_list, "topicConfigSerializeWrapper": wrapper(topics, version, mapping)})


def block(data: bytes) -> bytes:
    """Bytes behind their number."""
    return struct.pack(">i", len(data)) + data


def compressed_body(
    topics: list[dict[str, Any]],
    version: dict[str, int] | None = None,
    *,
    filters: tuple[str, ...] = (),
    mapping: list[dict[str, Any]] | None = (),  # type: ignore[assignment]
) -> bytes:
    """RegisterBrokerBody.encode(true); ``mapping=None`` leaves the 5.x section out as 4.9 brokers do."""

    parts = [block(dumps(version or data_version())), struct.pack(">i", len(topics))]
    for t in topics:
        line = f"{t['topicName']} {t['readQueueNums']} {t['writeQueueNums']} {t['perm']} SINGLE_TAG {{}}"
        parts.append(block(line.encode()))
    parts.append(block(dumps(list(filters))))
    if mapping is not None:
        parts.append(struct.pack(">i", len(mapping)))
        parts += [block(dumps(m)) for m in mapping]
    return zlib.compress(b"".join(parts), 9)


def register_ext(
    cluster: str = "C1",
    broker: str = "broker-a",
    addr: str = "10.0.0.1:10911",
    broker_id: int = 0,
    body: bytes = b"",
    **more: Any,
) -> dict[str, str]:
    """extFields of REGISTER_BROKER as a 5.x broker sends them; a value of None removes the field."""
    fields: dict[str, Any] = {
        "brokerAddr": addr,
        "brokerId": str(broker_id),
        "brokerName": broker,
        "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF),
        "clusterName": cluster,
        "compressed": "false",
        "enableActingMaster": "false",
        "haServerAddr": addr.rsplit(":", 1)[0] + ":10912",
    }
    fields |= more
    return {k: str(v) for k, v in fields.items() if v is not None}
