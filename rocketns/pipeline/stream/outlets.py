"""Where alerts go: a file of JSON Lines, which a replayed batch does not change, an HTTP address, and Prometheus'
Alertmanager (API v2). No Spark here.

The file holds whole batches in order. A batch that is replayed after a crash first cuts off its earlier lines, so each
alert is in the file once. An HTTP address that does not take its alerts gets them with the next batch: it never stops
the stream, and the file has them. Alertmanager forgets an alert that is not repeated (``resolve_timeout``, 5 minutes by
default), so open alerts are sent again every REPEAT_S.
"""

from __future__ import annotations

import json
import mmap
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import Say, _

Line = dict[str, Any]  # of alerts.jsonl: an alert opens or closes

LINES_MAX = 500  # in one request


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

    def show(self, batch: int, lines: Sequence[Line], _opened: Sequence[Line] = ()) -> None:
        """Cut off the lines of this batch and later ones, then append. The lines are on disk when this returns. They
        are ASCII, so that no name from the network can end a line or disturb a terminal."""
        text = "".join(json.dumps({**line, "batch": batch}) + "\n" for line in lines)
        with self.path.open("r+b") as file:
            file.truncate(_end_before(file.fileno(), batch))
            file.seek(0, os.SEEK_END)
            file.write(text.encode("ascii"))
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
    """Posts the lines of a batch to an address, as ``{"alerts": [...]}``. What it does not take is sent with the next
    batch, the last LINES_MAX lines of it. A line that comes twice has the same ``alert`` and ``event``."""

    def __init__(self, url: str, say: Say) -> None:
        self._url, self._say = checked("--webhook", url), say
        self._unsent: list[Line] = []

    def show(self, batch: int, lines: Sequence[Line], _opened: Sequence[Line]) -> None:
        """After a batch."""
        self._unsent = [*self._unsent, *({**line, "batch": batch} for line in lines)][-LINES_MAX:]
        if self._unsent and taken("webhook", self._url, {"alerts": self._unsent}, len(self._unsent), self._say):
            self._unsent = []


TIMEOUT_S = 5.0


class _Staying(urllib.request.HTTPRedirectHandler):
    """urllib would ask the address that the answer names, and leave the body out."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Staying)


def checked(option: str, url: str) -> str:
    """The address. BadInput if it is not one of HTTP."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0:
            return url
    said = _("%(option)s: the address must begin with http:// or https://, and a host or host:port")
    raise BadInput(said % {"option": option})


def host_of(url: str) -> str:
    """What may be said of an address: the rest may be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def taken(outlet: str, url: str, value: Any, count: int, say: Say) -> bool:
    """Whether the address took so many alerts; why not is said."""
    sent = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(value).encode(), sent, method="POST")
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S):
            return True
    except urllib.error.HTTPError as error:
        problem = f"HTTP {error.code}"
        error.close()
    except (OSError, ValueError, HTTPException) as error:  # the last one: what came is not HTTP
        problem = f"{type(error).__name__}: {error}"
    said = _.plural("%(outlet)s: %(n)s alert was not delivered to %(host)s: %(problem)s",
                    "%(outlet)s: %(n)s alerts were not delivered to %(host)s: %(problem)s", count)  # fmt: skip
    say(said % {"outlet": outlet, "n": count, "host": host_of(url), "problem": problem})
    return False


REPEAT_S = 60.0
API = "/api/v2/alerts"


class Alertmanager:
    """``url``: its address, without a path of the API."""

    def __init__(self, url: str, say: Say, now: Callable[[], float] = time.monotonic) -> None:
        self._url, self._say, self._now = checked("--alertmanager", url).rstrip("/") + API, say, now
        self._due = now()

    def show(self, _batch: int, lines: Sequence[Line], opened: Sequence[Line]) -> None:
        """After a batch: ``lines`` that it wrote, and those of the alerts that are ``opened`` now."""
        if not lines and self._now() < self._due:
            return
        bodies = [_body(line) for line in (*(line for line in lines if line["event"] == "close"), *opened)]
        parts = [bodies[start : start + LINES_MAX] for start in range(0, len(bodies), LINES_MAX)]
        if all(taken("alertmanager", self._url, part, len(part), self._say) for part in parts):
            self._due = self._now() + REPEAT_S
        else:
            self._due = self._now()


def _body(line: Line) -> dict[str, Any]:
    """An alert is recognised by its labels, so they are the same when it opens and when it closes."""
    labels = {"alertname": f"rocketns_{line['kind']}", **{name: line[name] for name in ("alert", "kind", "key")}}
    ends = {"endsAt": max(line["at"], line["since"])} if line["event"] == "close" else {}
    return {"labels": labels, "annotations": {"summary": line["text"]}, "startsAt": line["since"], **ends}
