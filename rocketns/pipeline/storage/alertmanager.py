"""Alerts for Prometheus' Alertmanager, by its API v2.

It forgets an alert that is not repeated (``resolve_timeout``, 5 minutes by default), so open alerts are sent again
every REPEAT_S. If it cannot be reached, they are sent with the next batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.posting import checked, host_of, post

REPEAT_S = 60.0
ALERTS_MAX = 1_000  # in one request
API = "/api/v2/alerts"


class Alertmanager:
    """``url``: its address, without a path of the API."""

    def __init__(self, url: str, say: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        self._url, self._say, self._now = checked("--alertmanager", url).rstrip("/") + API, say, now
        self._sent: float | None = None

    def show(self, lines: Iterable[Mapping[str, Any]], opened: Sequence[Alert]) -> bool:
        """After a batch: ``lines`` that it wrote, and the alerts that are ``opened`` now. Whether all were taken."""
        lines = list(lines)
        bodies = [_closed(line) for line in lines if line["event"] == "close"]
        due = self._sent is None or self._now() - self._sent >= REPEAT_S
        if due or lines:
            bodies += [_open(alert) for alert in opened]
        for start in range(0, len(bodies), ALERTS_MAX):
            problem = post(self._url, bodies[start : start + ALERTS_MAX])
            if problem is not None:
                self._sent = None
                said = _("alertmanager: %(n)s alerts were not delivered to %(host)s: %(problem)s")
                self._say(said % {"n": len(bodies), "host": host_of(self._url), "problem": problem.text})
                return False
        if due or lines:
            self._sent = self._now()
        return True


def _open(alert: Alert) -> dict[str, Any]:
    return _body(alert.alert, alert.kind, alert.key, alert.text) | {"startsAt": exact_text(alert.since)}


def _closed(line: Mapping[str, Any]) -> dict[str, Any]:
    body = _body(line["alert"], line["kind"], line["key"], line["text"])
    return body | {"startsAt": line["since"], "endsAt": max(line["at"], line["since"])}


def _body(alert: str, kind: str, key: str, text: str) -> dict[str, Any]:
    """An alert is recognised by its labels, so they are the same when it opens and when it closes."""
    labels = {"alertname": f"rocketns_{kind}", "alert": alert, "kind": kind, "key": key}
    return {"labels": labels, "annotations": {"summary": text}}
