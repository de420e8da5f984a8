"""docs/metrics.md is what the code declares, and the declarations keep Prometheus' rules of names."""

from __future__ import annotations

import re

import pytest

from rocketns.admin.metrics.catalogue import THEMES
from rocketns.admin.metrics.family import Family, MetricType
from rocketns.shadow.status.metrics import FAMILIES as OF_THE_SHADOW
from tests.check.metrics.page import PAGE, page

FAMILIES = [family for families in (*THEMES.values(), OF_THE_SHADOW) for family in families]
UNITS = ("_seconds", "_bytes", "_info")


def test_the_page_of_metrics_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), (
        "docs/metrics.md is not what the code declares. Next step: python -m tests.check.metrics"
    )


def test_no_name_is_taken_twice() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_name_keeps_prometheus_rules(family: Family) -> None:
    assert re.fullmatch(r"rocketns_[a-z0-9]+(_[a-z0-9]+)*", family.name)
    assert family.name.endswith("_total") == (family.kind is MetricType.COUNTER)
    if family.kind is MetricType.HISTOGRAM:
        assert family.name.endswith(UNITS)
    assert family.meaning.endswith(".")
