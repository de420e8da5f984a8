"""One HTTP POST of JSON, with a timeout. No Spark here.

Alerts for Prometheus' Alertmanager, by its API v2.

It forgets an alert that is not repeated (``resolve_timeout``, 5 minutes by default), so open alerts are sent again
every REPEAT_S. If it cannot be reached, they are sent with the next batch.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rocketns.pipeline.contract.alert import Alert
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.saying import _

TIMEOUT_S = 5.0


class Problem(NamedTuple):
    """Why something was not taken, in the user's language. ``is_final``: another try would not change it."""

    text: str
    is_final: bool = False


class _Staying(urllib.request.HTTPRedirectHandler):
    """urllib would ask the address that the answer names, and leave the body out."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Staying)


def checked(option: str, url: str) -> str:
    """The address. BadInput if it is not one of HTTP."""
    if not url.startswith(("http://", "https://")) or not _has_host(url):
        raise BadInput(
            _("%(option)s: the address must begin with http:// or https://, and a host or host:port")
            % {"option": option}
        )
    return url


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def host_of(url: str) -> str:
    """What may be said of an address: the rest may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def post(url: str, value: Any, headers: Mapping[str, str] | None = None) -> Problem | None:
    """None if it was taken, otherwise why not."""
    sent = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, json.dumps(value).encode(), sent, method="POST")
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S):
            return None
    except urllib.error.HTTPError as error:
        with error:
            return _answered(error)
    except (OSError, ValueError, HTTPException) as error:  # the last one: what came is not HTTP
        return Problem(f"{type(error).__name__}: {error}")


def _answered(error: urllib.error.HTTPError) -> Problem:
    shown = {"code": error.code}
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code == HTTPStatus.TOO_MANY_REQUESTS:
        return Problem(_("answered %(code)s") % shown)
    if error.code < HTTPStatus.BAD_REQUEST:
        return Problem(_("refused with %(code)s, a redirect, which is not followed") % shown, is_final=True)
    return Problem(_("refused with %(code)s") % shown, is_final=True)


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
