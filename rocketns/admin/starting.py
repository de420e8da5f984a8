"""Whether there is a management port. This module needs nothing of the extra ``rocketns[admin]``."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rocketns.controller import NamesrvController
from rocketns.errors import StartupError

if TYPE_CHECKING:
    from rocketns.admin.server import AdminServer
    from rocketns.admin.view import Log

NEEDED = {"aiohttp": "aiohttp", "prometheus_client": "prometheus-client"}


def make_admin(controller: NamesrvController, niceness: int = 0, log: Log | None = None) -> AdminServer | None:
    """Control only. The management port, bound and not started; None if ``adminPort`` is 0.

    StartupError if a library is missing, or the address cannot be had.
    """
    config = controller.configuration.admin
    if not config.admin_port:
        return None
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise StartupError(f"rocketns.adminPort={config.admin_port} needs {' and '.join(missing)}. Install the extra: "
                           "pip install 'rocketns[admin]', or set rocketns.adminPort=0")  # fmt: skip
    from rocketns.admin.server import AdminServer  # its libraries take 25 MB

    return AdminServer(controller, _bind(config.admin_address, config.admin_port), niceness, log)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.setblocking(False)
    except OSError as error:
        raise StartupError(f"the management port cannot listen at {host}:{port}: {error.strerror}") from error
    return bound
