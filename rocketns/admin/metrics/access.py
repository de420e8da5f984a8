"""Requests of administrators, and requests that are refused or would be."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.admin.metrics.family import Family, Sample, counter
from rocketns.admin.metrics.requests import CODE, RESULT, names_of
from rocketns.admin.metrics.scene import Scene


def _admin(scene: Scene) -> Iterator[Sample]:
    for (code, result), number in list(scene.tally.admin_requests.items()):
        yield names_of(code, result), number


def _refused(scene: Scene) -> Iterator[Sample]:
    for (access, is_enforced, reason), number in list(scene.tally.refused.items()):
        yield (access, "enforce" if is_enforced else "observe", reason), number


FAMILIES: tuple[Family, ...] = (
    counter(
        "rocketns_admin_requests_total", "Requests of class admin that were processed: 100, 102, 205, 216, 318, 327. "
        "The journal and the log say who sent them, and what they changed.", _admin, {"code": CODE, "result": RESULT},
    ),
    counter(
        "rocketns_access_decisions_total", "Requests that access control refused, or would have refused.", _refused,
        {"class": "the class of the request: `lookup`, `read`, `broker`, `admin` …",
         "mode": "`enforce`: it was refused; `observe`: it was answered", "reason": "why, in one word"},
    ),
)  # fmt: skip
