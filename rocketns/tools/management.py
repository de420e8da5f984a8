"""What only the management port of a rocketns tells: its connections, and what clients of its views get.

The name server says by request 319 where this port is, and whether it takes TLS alone. Its certificate is always
verified, because a token is sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
from argparse import Namespace
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode

from rocketns.addresses import ANY_ADDRESS, read_server
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.config.properties import of_lines
from rocketns.config.tls import TlsSide
from rocketns.tools.keys import tls_of

HERE = ("127.0.0.1", "::1", "localhost")
ANSWER_WITHIN_S = 5.0
ANSWER_BYTES_MAX = 4 << 20
ROWS_IN_PAGE = 500
PAGES_MAX = 100
# Every management port has this name. Other names than addresses are refused, for the sake of browsers.
NAMED = {"Host": "localhost"}
TOKEN_VARIABLE = "ROCKETNS_ADMIN_TOKEN"
TOKEN = re.compile("[!-~]+")
WHY_REFUSED = {
    HTTPStatus.UNAUTHORIZED: f"asks for a token that it knows: give one by {TOKEN_VARIABLE}",
    HTTPStatus.FORBIDDEN: "needs a token of the class read",
}


@dataclass(frozen=True, slots=True)
class _Port:
    """Where to ask, and how. ``context`` is None for plain HTTP. The token is shown nowhere."""

    host: str
    port: int
    context: ssl.SSLContext | None
    token: str = field(repr=False)

    def __str__(self) -> str:
        return f"its management port {self.host}:{self.port}"


async def rows_of(listed: str, options: Namespace, server: NameServer) -> list[dict[str, Any]]:
    """The rows of a list of `/api/v1`, 50,000 at most, such as ``connections?sort=peer``. UnusableError if there is no
    management port to ask.
    """
    return await asyncio.to_thread(_rows, await _port(options, server), listed)


async def route_as(options: Namespace, server: NameServer) -> dict[str, Any] | None:
    """The row of `/api/v1/route` for a client, by its address or the name of a view. None: there is no route."""
    query = urlencode({"topic": options.topic, "as": options.who})
    status, row = await asyncio.to_thread(_get, await _port(options, server), f"route?{query}")
    if status == HTTPStatus.NOT_FOUND and await server.route(options.topic) is None:
        return None  # else it is the view that does not exist
    if status != HTTPStatus.OK:
        raise UnusableError(f"its management port answers {status}: {row.get('error', '')}")
    return row


async def _port(options: Namespace, server: NameServer) -> _Port:
    properties = of_lines(await server.configuration())
    host, port = _address(server, properties)
    token, side = os.environ.get(TOKEN_VARIABLE, "").strip(), tls_of(options, os.environ).client
    is_tls = properties.get("rocketns.adminTls", "").lower() == "true"
    if token and not TOKEN.fullmatch(token):
        raise UnusableError(f"{TOKEN_VARIABLE} must have one token and nothing else")
    if token and side.trust_cert_path and not is_tls:  # whoever answers in its place would like to have it
        raise UnusableError("its management port takes no TLS, so the token is not sent. Leave out "
                            "tls.client.trustCertPath to send it unencrypted")  # fmt: skip
    return _Port(host, port, _context(side) if is_tls else None, token)


def _context(side: TlsSide) -> ssl.SSLContext:
    """``tls.client.trustCertPath``, or else the machine's certificates, verify the server."""
    try:
        context = ssl.create_default_context(cafile=side.trust_cert_path or None)
        if side.cert_path:
            context.load_cert_chain(side.cert_path, side.key_path or None, side.key_password or None)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise UnusableError(f"the files of tls.client.… cannot be used for its management port: {error}") from error
    return context


def _address(server: NameServer, properties: dict[str, str]) -> tuple[str, int]:
    address = properties.get("rocketns.adminAddress", HERE[0])
    port = read_server(f"{HERE[0]}:{properties.get('rocketns.adminPort', '')}")
    if port is None:
        raise UnusableError("it has no management port, which only can say this: set rocketns.adminPort")
    host = server.addr.rpartition(":")[0].strip("[]")
    if address in HERE and host not in HERE:
        raise UnusableError(f"its management port listens at {address} only: ask on its machine")
    return (host if address in (*HERE, *ANY_ADDRESS) else address), port[1]


def _rows(port: _Port, listed: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _ in range(PAGES_MAX):
        status, page = _get(port, f"{listed}&limit={ROWS_IN_PAGE}&offset={len(found)}")
        rows, total = page.get("items"), page.get("total")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows) or not isinstance(total, int):
            raise UnusableError(f"{port} answers {status}, or without a list of {listed.partition('?')[0]}")
        found += rows
        if not rows or len(found) >= total:
            break
    return found


def _get(port: _Port, path: str) -> tuple[int, dict[str, Any]]:
    """The status, and the JSON object of the answer."""
    asked = (HTTPConnection(port.host, port.port, timeout=ANSWER_WITHIN_S) if port.context is None else
             HTTPSConnection(port.host, port.port, timeout=ANSWER_WITHIN_S, context=port.context))  # fmt: skip
    try:
        headers = NAMED | ({"Authorization": f"Bearer {port.token}"} if port.token else {})
        asked.request("GET", f"/api/v1/{path}", headers=headers)
        answer = asked.getresponse()
        body = answer.read(ANSWER_BYTES_MAX)
        value = {} if answer.status in WHY_REFUSED else json.loads(body)
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise UnusableError(f"{port} cannot be read: {error}") from error
    finally:
        asked.close()
    if answer.status in WHY_REFUSED:
        raise UnusableError(f"{port} {WHY_REFUSED[HTTPStatus(answer.status)]}")
    return answer.status, value if isinstance(value, dict) else {}
