"""Resident memory: without the port, with it, after scrapes, and while the status page is open in several browsers."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.admin.servers import pair, registered
from benchmarks.loading.brokers import Shape
from benchmarks.servers.process import resident_mb
from tests.admin.http import Http

SHAPE = Shape(100, 1000, 4)
SCRAPES, READERS, OPEN_S = 20, 3, 8.0
LISTS = ("status", "brokers?limit=300", "brokers?limit=25&sort=-silentMs", "topics?limit=8&q=1", "events?limit=30",
         "nameservers?limit=100")  # fmt: skip


def resident(folder: Path) -> dict[str, float]:
    """MB by what was done with it."""
    off, on, port = pair(folder)
    try:
        brokers = [registered(server, SHAPE) for server in (off, on)]
        found = {"without the port": resident_mb(off.pid), "with the port": resident_mb(on.pid)}
        http = Http(port)
        for _ in range(SCRAPES):
            assert http.ask("/metrics").status == 200
        found["after scrapes"] = resident_mb(on.pid)
        with ExitStack() as stack:
            for _ in range(READERS):
                _open_page(http, stack)
            time.sleep(OPEN_S)
            found["with the page open"] = resident_mb(on.pid)
        for one in brokers:
            one.close()
    finally:
        off.kill()
        on.kill()
    return found


def _open_page(http: Http, stack: ExitStack) -> None:
    """What a browser asks for: the page, its files, the lists, and the stream, which it reads."""
    page = http.ask("/").text
    files = re.findall(r'"(/page/[\w.]+)"', page)
    for name in [*files, *(f"/api/v1/{one}" for one in LISTS)]:
        assert http.ask(name).status == 200, name
    reader = stack.enter_context(http.connect())
    reader.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
