"""Requests, answers, pairs and counts for tests of the shadow."""

from __future__ import annotations

import json
from typing import Any

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.shadow.pairs import MemberDifference, Outcome, Pair, Sample

NOW_MS = 1_764_000_000_000


def request(code: int = 105, ext: dict[str, Any] | None = None, body: bytes = b"", opaque: int = 7) -> bytes:
    return frame(json_header(code, {"topic": "T"} if ext is None else ext, opaque=opaque), body)


def answer(body: Any = b"", code: int = 0, opaque: int = 7, version: int = 513, **members: Any) -> bytes:
    """``body`` is bytes, or a value that becomes compact JSON."""
    header: dict[str, Any] = {"code": code, "flag": 1, "language": "JAVA", "opaque": opaque} | members
    header |= {"serializeTypeCurrentRPC": "JSON", "version": version}
    return frame(compact(header), body if isinstance(body, bytes) else compact(body))


def binary_answer(body: Any = b"", code: int = 0, version: int = 513, remark: bytes = b"") -> bytes:
    header = binary_header(code, opaque=7, flag=1, version=version, remark=remark)
    return frame(header, body if isinstance(body, bytes) else compact(body), ROCKETMQ)


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def broker(name: str, addr: str = "10.0.0.1:10911", cluster: str = "C") -> dict[str, Any]:
    return {"brokerAddrs": {"0": addr}, "brokerName": name, "cluster": cluster, "enableActingMaster": False}


def queues(name: str, perm: int = 6) -> dict[str, Any]:
    return {"brokerName": name, "perm": perm, "readQueueNums": 8, "topicSysFlag": 0, "writeQueueNums": 8}


def route(*names: str, perm: int = 6) -> dict[str, Any]:
    return {
        "brokerDatas": [broker(name) for name in names],
        "filterServerTable": {},
        "queueDatas": [queues(name, perm) for name in names],
    }


def pair(upstream: bytes | None, own: bytes | None, asked: bytes | None = None, **fields: Any) -> Pair:
    known = Pair(1, "10.9.9.9:4000", NOW_MS, request() if asked is None else asked, upstream, own, 1.0, 1.0)
    return known._replace(**fields)


PAIR = Pair(3, "10.0.0.1:4000", 1_700_000_000_000, b"request", b"upstream", None, 1.0, None)


def sample(question: str = "q", **fields: Any) -> Sample:
    known = {
        "question": question, "at_ms": PAIR.at_ms, "peer": PAIR.peer, "client": "JAVA 5.5.0",
        "request": "GET_ROUTEINFO_BY_TOPIC", "outcome": Outcome.DIFFERENT, "note": "",
        "differences": (MemberDifference("body.x", "1", "2"),), "pair": PAIR,
    }  # fmt: skip
    return Sample(**known | fields)
