"""Whether there is a management port. This module needs nothing of the extra ``rocketns[admin]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketns.errors import check_installed
from rocketns.server.facts import Facts

if TYPE_CHECKING:
    from rocketns.admin.server import AdminServer
    from rocketns.admin.view import Log

NEEDED = {"aiohttp": "aiohttp", "prometheus_client": "prometheus-client"}


def make_admin(facts: Facts, niceness: int = 0, log: Log | None = None) -> AdminServer | None:
    """Control only. The management port, bound and not started; None if ``adminPort`` is 0.

    StartupError if a library is missing, or the address cannot be had.
    """
    if not facts.configuration.admin.admin_port:
        return None
    check_installed(f"rocketns.adminPort={facts.configuration.admin.admin_port}", "admin", NEEDED)
    from rocketns.admin.server import AdminServer  # its libraries take 25 MB

    return AdminServer(facts, niceness, log)
