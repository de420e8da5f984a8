"""Whether a connection is over, asked without waiting and without a byte to the server."""

from __future__ import annotations

import socket

from interop.harness.wire import Client


def is_ended(client: Client) -> bool:
    """Whether the server closed the connection; does not wait. What it sent before stays to be read."""
    client.socket.setblocking(False)
    try:
        return client.socket.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    finally:
        client.socket.settimeout(client.timeout_s)
