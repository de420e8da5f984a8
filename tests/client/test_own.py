"""Which addresses are the server's own."""

from __future__ import annotations

import asyncio
import socket

from rocketns.client.own import others_and_own


def is_own(addr: str, port: int) -> bool:
    others, own = asyncio.run(others_and_own([addr], port))
    assert others + own == [addr]
    return own == [addr]


def test_its_own_address_is_not_asked() -> None:
    """All name servers of a cluster may have the same list."""
    assert is_own("127.0.0.1:9876", 9876)
    assert is_own("localhost:9876", 9876)
    assert is_own("[::1]:9876", 9876) == socket.has_ipv6
    assert not is_own("127.0.0.1:9877", 9876)
    assert not is_own("192.0.2.1:9876", 9876)
    assert not is_own("no-such-host.invalid:9876", 9876)
