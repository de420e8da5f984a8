"""Outputs for alerts: a file of JSON Lines, which a replayed batch does not change, and an HTTP address. No Spark here.

The file holds whole batches in order. A batch that is replayed after a crash first cuts off its earlier lines, so each
alert is in the file once. The HTTP address receives each batch at least once, with a key that identifies repetitions.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.posting import Problem, checked, host_of, post

Alert = Mapping[str, Any]

WAITS_S = (1.0, 2.0, 4.0)  # before the second, third and last try
BODY_ALERTS_MAX = 500


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

    def write(self, batch: int, alerts: Iterable[Alert]) -> None:
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

    def post(self, batch: int, alerts: Sequence[Alert]) -> bool:
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
