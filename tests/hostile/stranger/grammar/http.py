"""Requests to the two ports that speak HTTP."""

from __future__ import annotations

import random
from urllib.parse import quote

from tests.hostile.stranger.grammar.acts import Act, size
from tests.hostile.stranger.grammar.frames import Frame
from tests.hostile.stranger.grammar.names import name

API = "/api/v1/"
LISTS = ("brokers", "topics", "clusters", "connections", "kv", "config", "limits", "events", "nameservers",
         "disagreements", "status", "route?topic=SELF_TEST_TOPIC", "openapi.json", "nobody")  # fmt: skip
MANAGEMENT = ("/", "/livez", "/readyz", "/metrics", API + "stream", "/nobody", *(API + one for one in LISTS))
ADDRESS = ("/rocketmq/nsaddr", "/rocketmq/nsaddr-unit?nofix=1", "/", "/rocketmq/", "/nobody")
METHODS = ("GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", "X" * 300)
BODY_BYTES_MAX = 4_000_000


def management(act: Act, chance: random.Random) -> Frame:
    return _request(act, chance, MANAGEMENT)


def address(act: Act, chance: random.Random) -> Frame:
    return _request(act, chance, ADDRESS)


def _request(act: Act, chance: random.Random, paths: tuple[str, ...]) -> Frame:
    path, method = chance.choice(act.some("paths", paths)), chance.choice(act.some("methods", METHODS))
    if chance.random() < 0.05:
        return Frame("noise", chance.randbytes(size(chance, min(act.longest, BODY_BYTES_MAX))))
    target = path + (_query(act, chance) if path.startswith(API) and "?" not in path and chance.random() < 0.5 else "")
    lines = [f"{method} {target} HTTP/1.{chance.choice('111110')}", f"Host: {_host(act, chance)}"]
    body = bytes(size(chance, BODY_BYTES_MAX)) if chance.random() < 0.4 else b""
    lines += _about_body(chance, body) + _odd_headers(act, chance)
    head = "\r\n".join(lines).encode("latin-1", "replace")
    more = body if chance.random() < 0.8 else body[: len(body) // 2]
    return Frame(path, head + b"\r\n\r\n" + more)


def _host(act: Act, chance: random.Random) -> str:
    return "localhost" if chance.random() < 0.8 else quote(name(act, chance, "host")[:10_000])


def _query(act: Act, chance: random.Random) -> str:
    words = ("limit", "offset", "sort", "search", "cluster", "broker", "topic", "state", "event", "kind", "nobody")
    drawn = chance.sample(words, chance.randrange(1, 4))
    values = ("500", "501", "-1", "0", "live", "-name", quote(name(act, chance, "query")[:3_000]))
    return "?" + "&".join(f"{word}={chance.choice(values)}" for word in drawn)


def _about_body(chance: random.Random, body: bytes) -> list[str]:
    stated = chance.choice((len(body), len(body), len(body), 0, len(body) + 1, 1 << 40, -1))
    if not body and chance.random() < 0.8:
        return []
    return chance.choice((
        [f"Content-Length: {stated}"], [f"Content-Length: {stated}"], ["Transfer-Encoding: chunked"], [],
        [f"Content-Length: {stated}", "Expect: 100-continue"], [f"Content-Length: {stated}", "Content-Length: 3"],
    ))  # fmt: skip


def _odd_headers(act: Act, chance: random.Random) -> list[str]:
    odd = (
        ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA==", "Sec-WebSocket-Version: 13"],
        ["Connection: Upgrade", "Upgrade: h2c"],
        ["Connection: close"],
        ["Accept-Encoding: gzip"],
        ["Origin: http://localhost"],
        ["Last-Event-ID: " + "9" * 30],
        ["Cookie: " + "c" * size(chance, min(act.longest, 100_000))],
        [f"X-{number}: v" for number in range(size(chance, min(act.most, 1_000)))],
    )
    return chance.choice(act.some("headers", odd)) if chance.random() < 0.5 else []
