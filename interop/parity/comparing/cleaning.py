"""Removes what a play left on two servers, so that the next play finds them unchanged."""

from __future__ import annotations

import json
import re

from interop.harness import codes
from interop.harness.payloads import register_ext
from interop.harness.wire import Client
from interop.parity.comparing.play import QUESTIONS, Play
from interop.parity.comparing.state import Question, quoted, send_all
from interop.parity.pairs.pair import Pair, settings
from interop.parity.pairs.side import Side

# Java refuses what comes while its queue is full, which a setup makes as short as one: a sweep may remove only half.
SWEEPS_MAX = 50
LONG = range(-(2**63), 2**63)


def clean(pair: Pair, play: Play) -> None:
    """Unregister its brokers, delete its topics and keys, change settings back, close its connections."""
    if not pair.setup.plain:
        for side in pair.sides:
            side.hang_up_all()
        return
    if play.known.settings_changed:
        for side, at_start in zip(pair.sides, pair.at_start, strict=True):
            change_back(side, at_start)
    asked = leftovers(play)
    for side in pair.sides:
        send_all(side, QUESTIONS, asked)
    for side in pair.sides:
        side.receive_many(QUESTIONS, len(asked))
        side.hang_up_all()
        if play.known.brokers:
            sweep(side, side.settle())


def leftovers(play: Play) -> list[Question]:
    known = play.known
    keys = ("clusterName", "brokerAddr", "brokerName", "brokerId")
    asked: list[Question] = [
        (codes.UNREGISTER_BROKER, dict(zip(keys, names, strict=True)), 513)
        for names in sorted(known.brokers)
        if all(names[:3]) and _is_long(names[3])
    ]
    asked += [(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, 513) for topic in sorted(known.topics)]
    asked += [(codes.DELETE_KV_CONFIG, {"namespace": n, "key": k}, 513) for n, k in sorted(known.keys)]
    return asked


def _is_long(text: str) -> bool:
    """Whether Java reads it as an id. A request without an id makes Java drop the requests that wait with it."""
    return re.fullmatch(r"-?\d+", text, re.ASCII) is not None and int(text) in LONG


def sweep(side: Side, shown: bytes) -> None:
    """Remove a name that was in two clusters, and a group that had no broker: register it there, then unregister it."""
    for _ in range(SWEEPS_MAX):
        info = json.loads(quoted(shown))
        if not (info["brokerAddrTable"] or any(map(_names, info["clusterAddrTable"].values()))):
            return
        with side.fresh() as client:
            for cluster, names in info["clusterAddrTable"].items():
                for name in _names(names):
                    _take_back(client, cluster, name, info["brokerAddrTable"].get(name, {}).get("brokerAddrs", {}))
        shown = side.settle()


def _names(listed: list[str | None]) -> list[str]:
    """A play that leaves the null of a registration without a name cannot be cleaned up."""
    return [name for name in listed if name is not None]


def _take_back(client: Client, cluster: str, name: str, addrs: dict[str, str]) -> None:
    if not addrs:
        addrs = {"0": f"{name}:1"}
        client.request(codes.REGISTER_BROKER, register_ext(cluster, name, addrs["0"]) | {"bodyCrc32": "0"})
    for broker_id, addr in addrs.items():
        client.request(codes.UNREGISTER_BROKER, register_ext(cluster, name, addr, int(broker_id)))


def change_back(side: Side, at_start: dict[str, str]) -> None:
    """Give every setting the value that it had when the servers started."""
    now = settings(side.server.port)
    changed = {key: value for key, value in at_start.items() if now.get(key) != value}
    if changed:
        text = "".join(f"{key}={_escaped(value)}\n" for key, value in changed.items())
        with side.fresh() as client:
            client.request(codes.UPDATE_NAMESRV_CONFIG, None, text.encode("latin-1"))


def _escaped(value: str) -> str:
    """A value as Java's properties text has it."""
    ascii_only = value.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode("ascii")
    return ascii_only.replace("\n", "\\n")
