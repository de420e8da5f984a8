"""Which addresses are the server's own."""

from __future__ import annotations

import asyncio
import socket

from rocketns.client.own import others_and_own


def test_its_own_address_is_not_asked() -> None:
    """All name servers of a cluster may have the same list."""
    own = ["127.0.0.1:9876", "localhost:9876", *(["[::1]:9876"] if socket.has_ipv6 else [])]
    others = ["127.0.0.1:9877", "192.0.2.1:9876", "no-such-host.invalid:9876"]
    assert asyncio.run(others_and_own(others + own, 9876)) == (others, own)
