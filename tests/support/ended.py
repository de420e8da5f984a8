"""Checks whether a connection is closed, without waiting and without sending a byte."""

from __future__ import annotations

import socket

from interop.harness.wire import Client


def is_ended(client: Client) -> bool:
    """Whether the server has closed the connection. Does not wait and reads nothing. With a timed server, call it after
    an `advance`."""
    client.socket.setblocking(False)
    try:
        return client.socket.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    finally:
        client.socket.settimeout(client.timeout_s)
