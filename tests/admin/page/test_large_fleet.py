"""300 brokers and 10,000 topics with three troubles, on a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from interop.harness import codes
from interop.harness.wire import eventually
from tests.admin.conftest import Managed
from tests.admin.page.conftest import WITHIN_MS, Open, ends_at, fill, is_narrow_enough, picture

BROKERS, TOPICS = 300, 10_000
LOST, LATE = 20, 4


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    """A broker is lost, the last few are late, and a permission is wiped."""
    managed = Managed(tmp_path_factory.mktemp("large"))
    with ExitStack() as stack:
        stack.callback(managed.stop)
        brokers = fill(managed, stack, BROKERS, TOPICS)
        brokers.pop(LOST).client.close()
        # Before the time passes: after a stall its end would not count as a loss.
        eventually(lambda: managed.call(lambda: len(managed.controller.facts.tables.broker_live_table)) == BROKERS - 1)
        managed.advance(70_000)
        for broker in brokers[:-LATE]:
            broker.beat()
        with managed.connect() as client:
            client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-005"})
        yield managed


@pytest.mark.parametrize(("width", "height", "scheme"), [(1280, 800, "light"), (390, 844, "dark")])
def test_a_large_fleet_in_trouble_fits_the_screen_and_shuts_nobody_out(
    large: Managed, open_page: Open, width: int, height: int, scheme: str
) -> None:
    """The first screen has the verdict, numbers, and a cell for each broker. Lists have their first lines. A topic is
    found and opened."""
    for language in ("zh", "en"):
        page = open_page(large, width, scheme, f"/?lang={language}", height=height)
        for trouble in ("lost", "late", "wiped"):
            page.locator(f"#reasons li[data-name={trouble}]").wait_for()
        page.locator("#brokers tr").first.wait_for()
        expect(page.locator("#cells .cell")).to_have_count(BROKERS - 1, timeout=WITHIN_MS)
        picture(page, f"large-{width}-{language}")
        for place in ("#verdict", "#figures", "#states", "#cells"):
            assert ends_at(page, place) <= height, place
        assert is_narrow_enough(page, width)
    page.fill("#find", "order-00123")
    page.locator("#topics-count", has_text="1 topic").wait_for()
    page.locator("#topics button").first.click()
    page.locator("#route table").wait_for()
    assert is_narrow_enough(page, width)
    assert page.locator("#brokers tr").count() <= 25
    assert page.locator("#topics button").count() <= 8
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in violations] == []
