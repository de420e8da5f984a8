"""Refusals of access control, as events, in the metrics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from rocketns.admin.metrics.requests import FAMILIES
from rocketns.admin.metrics.scene import Scene
from rocketns.admin.metrics.tally import Tally
from rocketns.processor.context import Now
from rocketns.routeinfo.events import RequestRefused


def refused(count: int, *, is_enforced: bool) -> RequestRefused:
    return RequestRefused(216, "admin", "not_granted", "10.0.0.9", None, None, is_enforced, count, ())


def test_refusals_are_counted_by_class_mode_and_reason() -> None:
    tally = Tally()
    tally.note([refused(3, is_enforced=True), refused(2, is_enforced=False), refused(1, is_enforced=True)], Now(0, 0))
    scene = cast("Scene", SimpleNamespace(tally=tally))

    def seen(name: str, *labels: str) -> object:
        (family,) = [one for one in FAMILIES if one.name == name]
        return dict(family.read(scene)).get(labels)

    assert seen("rocketns_access_decisions_total", "admin", "enforce", "not_granted") == 4
    assert seen("rocketns_access_decisions_total", "admin", "observe", "not_granted") == 2
