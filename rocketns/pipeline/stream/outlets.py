"""Where alerts go: a file of JSON Lines, which a replayed batch does not change, an HTTP address, and Prometheus'
Alertmanager (API v2). No Spark here.

The file holds whole batches in order. A batch that is replayed after a crash first cuts off its earlier lines, so each
alert is in the file once. The HTTP address receives each batch at least once, with a key that identifies repetitions.
Alertmanager forgets an alert that is not repeated (``resolve_timeout``, 5 minutes by default), so open alerts are sent
again every REPEAT_S. If it cannot be reached, they are sent with the next batch.
"""

from __future__ import annotations

import json
import mmap
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rocketns.pipeline.contract.terms import BadInput, exact_text
from rocketns.pipeline.saying import _

Line = Mapping[str, Any]

WAITS_S = (1.0, 2.0, 4.0)  # before the second, third and last try
BODY_ALERTS_MAX = 500


class Alert(NamedTuple):
    """An alert that is open. Times are epoch us."""

    alert: str
    kind: str
    key: str
    since: int
    opened: int
    text: str


class AlertLog:
    """``alerts.jsonl``: one object a line, each with the ``batch`` it came from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab"):
                pass
        except OSError as error:
            raise BadInput(
                _("alerts cannot be written to %(path)s: %(error)s") % {"path": path, "error": error.strerror}
            ) from error

    def write(self, batch: int, alerts: Iterable[Line]) -> None:
        """Cut off the lines of this batch and later ones, then append. The lines are on disk when this returns. They
        are ASCII, so that no name from the network can end a line or disturb a terminal."""
        lines = "".join(json.dumps({**alert, "batch": batch}) + "\n" for alert in alerts)
        with self.path.open("r+b") as file:
            file.truncate(_end_before(file.fileno(), batch))
            file.seek(0, os.SEEK_END)
            file.write(lines.encode("ascii"))
            file.flush()
            os.fsync(file.fileno())


def _end_before(descriptor: int, batch: int) -> int:
    """Bytes up to the end of the last whole line of an earlier batch."""
    end = os.fstat(descriptor).st_size
    if end == 0:
        return 0
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as text:
        end = text.rfind(b"\n") + 1  # a partial line is from a crash; its batch is replayed
        while end:
            start = text.rfind(b"\n", 0, end - 1) + 1
            if json.loads(text[start:end])["batch"] < batch:
                return end
            end = start
    return 0


class Webhook:
    """Posts alerts to an address, with a timeout and a bounded number of tries. If it fails, the stream continues: the
    file has the alerts. ``delivered`` holds the number of the last delivered batch, so a replay skips it."""

    def __init__(
        self, url: str, delivered: Path, say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url, self._delivered, self._say, self._sleep = checked("--webhook", url), delivered, say, sleep

    def post(self, batch: int, alerts: Sequence[Line]) -> bool:
        """Whether the alerts of the batch are delivered, now or earlier. At most BODY_ALERTS_MAX of them are sent."""
        if not alerts or batch <= self._last():
            return True
        body = {"batch": batch, "alerts": [dict(alert) for alert in alerts[:BODY_ALERTS_MAX]], "total": len(alerts)}
        key = {"Idempotency-Key": f"rocketns-{batch}"}
        problem = post(self._url, body, key)
        for wait in WAITS_S:
            if problem is None or problem.is_final:
                break
            self._sleep(wait)
            problem = post(self._url, body, key)
        if problem is None:
            self._keep(batch)
            return True
        self._say_of(problem, batch, len(alerts))
        return False

    def _say_of(self, problem: Problem, batch: int, count: int) -> None:
        said = _.plural("webhook: %(n)s alert of batch %(batch)s was not delivered to %(host)s: %(problem)s",
                        "webhook: %(n)s alerts of batch %(batch)s were not delivered to %(host)s: %(problem)s",
                        count)  # fmt: skip
        shown = {"n": count, "batch": batch, "host": host_of(self._url), "problem": problem.text}
        self._say(said % shown)

    def _last(self) -> int:
        try:
            return int(self._delivered.read_text("ascii"))
        except (OSError, ValueError):
            return -1

    def _keep(self, batch: int) -> None:
        new = self._delivered.with_suffix(".new")
        new.write_text(str(batch), "ascii")
        new.replace(self._delivered)


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
