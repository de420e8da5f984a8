"""What only the management port of a rocketns tells: its connections."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

from rocketns.client.name_server import NameServer, UnusableError
from rocketns.tools.values import properties_value

HERE = ("127.0.0.1", "::1", "localhost")
EVERYWHERE = ("0.0.0.0", "::")
ANSWER_WITHIN_S = 5.0
ANSWER_BYTES_MAX = 4 << 20
ROWS_IN_PAGE = 500
PAGES_MAX = 100
PORT_MAX = 65_535
# Every management port has this name. Other names than addresses are refused, for the sake of browsers.
NAMED = {"Host": "localhost"}


async def connections(server: NameServer) -> list[dict[str, Any]]:
    """The rows of `/api/v1/connections`, 50,000 at most. UnusableError if there is no management port to ask."""
    host, port = _address(server, properties_value(await server.configuration()))
    return await asyncio.to_thread(_rows, host, port)


def _address(server: NameServer, properties: dict[str, str]) -> tuple[str, int]:
    port, address = properties.get("rocketns.adminPort", ""), properties.get("rocketns.adminAddress", HERE[0])
    if not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) <= PORT_MAX):
        raise UnusableError("it has no management port, which lists connections: set rocketns.adminPort")
    host = server.addr.rpartition(":")[0].strip("[]")
    if address in HERE and host not in HERE:
        raise UnusableError(f"its management port listens at {address} only: ask on its machine")
    return (host if address in (*HERE, *EVERYWHERE) else address), int(port)


def _rows(host: str, port: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(PAGES_MAX):
        rows, total = _page(host, port, len(found))
        found += rows
        if not rows or len(found) >= total:
            break
    return found


def _page(host: str, port: int, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The rows from ``offset`` on, as many as the server gives, and how many there are."""
    asked = http.client.HTTPConnection(host, port, timeout=ANSWER_WITHIN_S)
    try:
        path = f"/api/v1/connections?sort=peer&limit={ROWS_IN_PAGE}&offset={offset}"
        asked.request("GET", path, headers=NAMED)
        answer = asked.getresponse()
        body = answer.read(ANSWER_BYTES_MAX)
        page: dict[str, Any] = json.loads(body) if answer.status == http.HTTPStatus.OK else {"items": None, "total": 0}
        rows, total = page["items"], int(page["total"])
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, RecursionError) as error:
        raise UnusableError(f"its management port {host}:{port} cannot be read: {error}") from error
    finally:
        asked.close()
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnusableError(
            f"its management port {host}:{port} answers {answer.status}, or without a list of connections"
        )
    return rows, total
