"""Queries the whole state of both servers: routes in both dialects, lists, tables, settings.

Read-only but for 322, which counts as a heartbeat on both servers alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from interop.harness import codes
from interop.parity.pairs.side import Outcome, Side, request
from rocketns.shadow.comparing.frames import split

Question = tuple[int, dict[str, str] | None, int]

GLOBAL: tuple[Question, ...] = tuple(
    (code, None, 513)
    for code in (
        codes.GET_BROKER_CLUSTER_INFO,
        codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        codes.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        codes.GET_UNIT_TOPIC_LIST,
        codes.GET_HAS_UNIT_SUB_TOPIC_LIST,
        codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        codes.GET_NAMESRV_CONFIG,
    )
)
DIALECTS = (513, 400)
_BARE = re.compile(rb"([{,])(-?\d+):")


@dataclass
class Known:
    """The names in the requests of a play, as they were sent."""

    topics: set[str] = field(default_factory=set)
    clusters: set[str] = field(default_factory=set)
    # cluster, address, name, id: whatever unregistration takes them back
    brokers: set[tuple[str, str, str, str]] = field(default_factory=set)
    keys: set[tuple[str, str]] = field(default_factory=set)
    settings_changed: bool = False

    def note(self, code: int, ext: Mapping[str, str] | None) -> None:
        """Remember what a request names."""
        ext = ext or {}
        cluster, name, addr = (ext.get(key, "") for key in ("clusterName", "brokerName", "brokerAddr"))
        self.clusters.update(filter(None, (cluster, ext.get("cluster"))))
        if ext.get("topic"):
            self.topics.add(ext["topic"])
        if name or addr:
            self.brokers.add((cluster, addr, name, ext.get("brokerId", "0")))
        if "namespace" in ext:
            self.keys.add((ext["namespace"], ext.get("key", "")))
        self.settings_changed |= code == codes.UPDATE_NAMESRV_CONFIG

    def note_header(self, data: bytes) -> None:
        """The same of a frame of any bytes, as far as its header is JSON."""
        try:
            header = json.loads(data[8 : 8 + int.from_bytes(data[5:8])])
            ext = {key: str(value) for key, value in (header.get("extFields") or {}).items()}
            json.dumps(ext, ensure_ascii=False).encode()  # a lone surrogate can name nothing
            self.note(int(header.get("code") or 0), ext)
        except (ValueError, AttributeError, TypeError):
            return


def questions(known: Known, java_says: list[Outcome]) -> list[Question]:
    """What follows from the answers to GLOBAL and from the names that the play used."""
    info, topics = (_json(outcome) for outcome in java_says[:2])
    listed = set(topics.get("topicList", ())) | known.topics
    clusters = set(info.get("clusterAddrTable", {})) | known.clusters
    groups = {(data.get("cluster", ""), name) for name, data in info.get("brokerAddrTable", {}).items()}
    groups |= {(cluster, name) for cluster, _, name, _ in known.brokers if name}
    live = {(cluster, addr) for cluster, addr, _, _ in known.brokers if cluster and addr}
    asked: list[Question] = [
        (codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, version) for topic in sorted(listed) for version in DIALECTS
    ]
    asked += [(codes.GET_TOPICS_BY_CLUSTER, {"cluster": cluster}, 513) for cluster in sorted(clusters)]
    asked += [(codes.GET_BROKER_MEMBER_GROUP, {"clusterName": c, "brokerName": n}, 513) for c, n in sorted(groups)]
    asked += [(codes.QUERY_DATA_VERSION, {"clusterName": c, "brokerAddr": a}, 513) for c, a in sorted(live)]
    namespaces = {namespace for namespace, _ in known.keys} | {"ORDER_TOPIC_CONFIG"}
    asked += [(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}, 513) for namespace in sorted(namespaces)]
    return asked


def stray_address(says: list[Outcome]) -> str:
    """The broker address of 304 where 106 does not show it; of the answers to GLOBAL."""
    found = _json(says[2]).get("brokerAddr")
    return found if found is not None and f'"{found}"'.encode() not in says[0].frame else ""


def send_all(side: Side, on: str, asked: list[Question]) -> None:
    frames = (request(code, ext, opaque, version) for opaque, (code, ext, version) in enumerate(asked))
    side.send(on, b"".join(frames))


def quoted(body: bytes) -> bytes:
    """Java's default dialect as JSON: bare numeric keys get quotes."""
    return _BARE.sub(rb'\1"\2":', body)


def _json(outcome: Outcome) -> dict:  # type: ignore[type-arg]
    """A body as far as it is JSON."""
    if outcome.kind != "answer":
        return {}
    _, body, _ = split(outcome.frame)
    try:
        return dict(json.loads(quoted(body)))
    except ValueError:
        return {}
