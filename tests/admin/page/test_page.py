"""The status page in a real Chromium: what an operator sees, what works by keyboard, and what is never served."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import APIResponse, Route

from interop.harness import codes
from rocketns.admin.page import stream
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import MISSING, OWN, Disagreement, FleetState, Member, Part, Side
from tests.admin.conftest import Managed
from tests.admin.page.conftest import Open, fill
from tests.admin.population import Broker
from tests.behaviour.calls import put_kv

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
# Within this time after a change the page asks for the brokers again, and has the answer.
READS_AGAIN_MS = 1500


def test_the_page_shows_changes_without_a_reload(managed: Managed, open_page: Open) -> None:
    with Broker(managed, "first") as first, Broker(managed, "second", addr="10.0.0.2:1") as second:
        first.register()
        page = open_page(managed)
        page.locator("#verdict.ok").wait_for()
        second.register()
        page.locator("#changes li", has_text="second:0 at 10.0.0.2:1 registered").wait_for()
        page.locator("#brokers tr", has_text="second").wait_for()
        managed.advance(100_000)
        page.locator("#verdict.attention").wait_for()
        first.beat()
        second.beat()
        page.locator("#reasons", has_text="Heartbeats are late").wait_for(state="detached")


def test_an_answer_that_was_made_earlier_takes_no_later_one_back(managed: Managed, open_page: Open) -> None:
    """The list of brokers is on its way while another one registers, and comes last."""
    held: list[tuple[Route, APIResponse]] = []
    with (
        Broker(managed, "first") as first, Broker(managed, "second", addr="10.0.0.2:1") as second,
        Broker(managed, "third", addr="10.0.0.3:1") as third,
    ):  # fmt: skip
        first.register()
        page = open_page(managed)
        page.locator("#brokers tr", has_text="first").wait_for()
        page.route(re.compile(r"/api/v1/brokers\?"), lambda one: held.append((one, one.fetch())), times=1)
        second.register()
        while not held:
            page.wait_for_timeout(20)
        third.register()
        page.locator("#changes li", has_text="third:0 at").wait_for()
        page.wait_for_timeout(READS_AGAIN_MS)
        page.evaluate("cells.append(Object.assign(document.createElement('i'), {id: 'earlier'}))")
        ((route, answer),) = held
        route.fulfill(response=answer)
        page.locator("#earlier").wait_for(state="detached")
        page.locator("#brokers tr", has_text="third").wait_for()


def test_a_change_that_overtakes_the_answer_with_the_list_stays_in_it(managed: Managed, open_page: Open) -> None:
    """The answer is made before the change, and arrives after the stream's news of it."""
    held: list[tuple[Route, APIResponse]] = []
    with Broker(managed, "first") as first:
        page = open_page(managed)
        page.route(re.compile(r"/api/v1/events\?"), lambda one: held.append((one, one.fetch())), times=1)
        first.register()
        while not held:
            page.wait_for_timeout(20)
        put_kv(first.client, "ns", "overtaking", "v")
        page.locator("#changes li", has_text="overtaking").wait_for()
        page.evaluate("changes.append(Object.assign(document.createElement('li'), {id: 'earlier'}))")
        ((route, answer),) = held
        route.fulfill(response=answer)
        page.locator("#earlier").wait_for(state="detached")
        assert page.locator("#changes li", has_text="overtaking").count() == 1


def test_a_lost_broker_turns_the_verdict(managed: Managed, open_page: Open) -> None:
    with Broker(managed, "first") as first, Broker(managed, "second", addr="10.0.0.2:1") as second:
        first.register()
        second.register()
        page = open_page(managed)
        second.client.close()
        page.locator("#verdict.critical", has_text="Lost in the last 10 minutes: second:0").wait_for()


def test_a_topic_is_found_and_opened_by_keyboard_alone(managed: Managed, open_page: Open) -> None:
    with ExitStack() as stack:
        fill(managed, stack)
        page = open_page(managed)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # the link that skips to it
        page.keyboard.type("ER-0000")
        page.locator("#topics-count", has_text="10 topics").wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.locator("#route h3", has_text="order-00001").wait_for()
        assert page.locator("#route tbody tr").count() == 2
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.id") == "find"


def test_a_link_to_a_topic_opens_it(managed: Managed, open_page: Open) -> None:
    with ExitStack() as stack:
        fill(managed, stack)
        page = open_page(managed, path="/#topic=order-00007")
        page.locator("#route h3", has_text="order-00007").wait_for()


@pytest.mark.parametrize(("linked", "name"), [("%", "%"), ("100%25%zz", "100%25%zz"), ("100%25", "100%")])
def test_a_link_that_encodes_nothing_is_a_name(managed: Managed, open_page: Open, linked: str, name: str) -> None:
    """The fixture sees an error that a script throws."""
    with Broker(managed, "first") as broker:
        broker.register([name])
        page = open_page(managed, path=f"/#topic={linked}")
        page.locator("#route h3", has_text=name).wait_for()


def test_names_from_the_network_are_shown_and_never_run(managed: Managed, open_page: Open) -> None:
    with Broker(managed, HOSTILE, addr=f"10.0.0.1:1{HOSTILE}", cluster=f"\u202e{HOSTILE}") as broker:
        broker.register([HOSTILE])
        broker.client.request(codes.PUT_KV_CONFIG, {"namespace": HOSTILE, "key": HOSTILE, "value": HOSTILE})
        page = open_page(managed, 390)
        page.fill("#find", "<img")
        page.locator("#topics-count", has_text="2 topics").wait_for()
        page.locator("#topics button").first.click()
        page.locator("#route h3").wait_for()
        page.locator("#changes li", has_text=HOSTILE).first.wait_for()
        page.locator("#brokers tr", has_text=HOSTILE).wait_for()  # read beside the changes; there is one
        assert page.locator("main img, main script").count() == 0
        assert "\\u202e" in page.locator("#brokers tr").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_names_that_are_written_from_right_to_left_are_letters_and_isolated(managed: Managed, open_page: Open) -> None:
    name, topic = "הזמנות", "طلبات"
    with Broker(managed, f"{name}-2") as broker:
        broker.register([topic, f"orders-{name}-7"])
        page = open_page(managed, path=f"/#topic={topic}")
        page.locator("#route h3 bdi", has_text=topic).wait_for()
        page.locator("#brokers tr bdi", has_text=name).wait_for()
        assert f"{name}-2" in page.locator("#brokers tr").inner_text()
        page.fill("#find", f"-{name}-")
        page.locator("#topics-count", has_text="1 topic").wait_for()
        page.locator("#topics bdi", has_text=name).wait_for()


def test_a_page_that_hears_nothing_says_that_it_is_old(
    managed: Managed, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(managed)
    monkeypatch.setattr(stream, "PERIOD_S", 60.0)
    page.locator("#live.lost", has_text="what is shown is old").wait_for()


def test_name_servers_stand_side_by_side_with_what_they_do_not_say_alike(managed: Managed, open_page: Open) -> None:
    here, other = Member(OWN, "rocketns", "", 1, 9, 2, 7), Member("10.0.0.2:9876", "other", "", 1, 9, 1, 7, 1)
    sides = Side("0=10.1.0.2:10911", (OWN,)), Side(MISSING, (other.addr,))
    page = open_page(managed, 390)
    assert page.locator("#fleet").is_hidden()
    cause = Disagreement(FactKind.BROKER, HOSTILE, 5, sides, (Part.MISSING,))
    managed.controller.fleet.state = FleetState(9, (here, other), (cause,))
    page.locator("#differ", has_text=HOSTILE).wait_for()
    assert "10.0.0.2:9876: not there" in page.locator("#differ").inner_text()
    assert "says otherwise" in page.locator("#servers").inner_text()
    assert page.locator("#servers td.name").all_inner_texts() == [OWN, "10.0.0.2:9876"]
    says = page.locator("#differ ul li").first.bounding_box()
    assert says is not None
    assert says["width"] > 200
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    violations = Axe().run(page).response["violations"]
    assert [one["id"] for one in violations] == []
