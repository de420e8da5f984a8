"""Whether there is a management port. This module needs nothing of the extra ``rocketns[admin]``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from rocketns.errors import StartupError
from rocketns.extras import install_command
from rocketns.server.facts.facts import Facts
from rocketns.server.listening import bind

if TYPE_CHECKING:
    from rocketns.admin.server import AdminServer
    from rocketns.admin.view import Log

NEEDED = {"aiohttp": "aiohttp", "prometheus_client": "prometheus-client"}


def make_admin(facts: Facts, niceness: int = 0, log: Log | None = None) -> AdminServer | None:
    """Control only. The management port, bound and not started; None if ``adminPort`` is 0.

    StartupError if a library is missing, or the address cannot be had.
    """
    config = facts.configuration.admin
    if not config.admin_port:
        return None
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise StartupError(f"rocketns.adminPort={config.admin_port} needs {' and '.join(missing)}. Install the extra: "
                           f"{install_command('admin')}, or set rocketns.adminPort=0")  # fmt: skip
    from rocketns.admin.server import AdminServer  # its libraries take 25 MB

    try:
        listening = bind(config.admin_address, config.admin_port, ipv4_only=facts.configuration.ipv4_only,
                         chosen_by="rocketns.adminPort")  # fmt: skip
        listening.listen()  # at once: two sockets may be bound to one address until one of them listens
    except StartupError as error:
        raise StartupError(f"the management port: {error}") from error
    listening.socket.setblocking(False)
    return AdminServer(facts, listening, niceness, log)
