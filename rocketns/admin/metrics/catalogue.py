"""All families, by theme. Another feature adds the tuple of its own."""

from __future__ import annotations

from rocketns.admin.metrics import connections, control, journal, process, requests, routes
from rocketns.admin.metrics.family import Family

THEMES: dict[str, tuple[Family, ...]] = {
    "Requests": requests.FAMILIES,
    "Brokers, topics and settings": routes.FAMILIES,
    "Connections and limits": connections.FAMILIES,
    "The control thread": control.FAMILIES,
    "The journal and the start": journal.FAMILIES,
    "The build": process.FAMILIES,
}
