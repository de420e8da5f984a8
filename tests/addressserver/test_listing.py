"""Which name servers are listed, by the time of their last answer."""

from __future__ import annotations

import logging

import pytest

from rocketns.addressserver.listing import LISTED_S, Listing


@pytest.fixture
def listing() -> Listing:
    made = Listing()
    made.set_addresses(["ns-2:9876", "ns-1:9876"])
    return made


def test_nobody_is_listed_before_an_answer(listing: Listing) -> None:
    assert listing.listed(0.0) == ()


def test_who_answered_is_listed_for_a_while(listing: Listing) -> None:
    listing.answered("ns-1:9876", 100.0)
    assert listing.listed(100.0 + LISTED_S) == ("ns-1:9876",)
    assert listing.listed(100.1 + LISTED_S) == ()


def test_who_says_that_it_is_not_ready_is_not_listed(listing: Listing) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.refused("ns-1:9876")
    assert listing.listed(100.0) == ()
    listing.answered("ns-1:9876", 103.0)
    assert listing.listed(103.0) == ("ns-1:9876",)


def test_the_list_is_sorted(listing: Listing) -> None:
    """Two address servers with the same servers give the same text. The order in their files does not matter."""
    for addr in ("ns-2:9876", "ns-1:9876"):
        listing.answered(addr, 100.0)
    assert listing.listed(100.0) == ("ns-1:9876", "ns-2:9876")


def test_a_new_list_of_peers_keeps_what_is_known(listing: Listing) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.answered("ns-2:9876", 100.0)
    listing.set_addresses(["ns-3:9876", "ns-1:9876"])
    assert listing.listed(100.0) == ("ns-1:9876",)
    for call in (lambda: listing.answered("ns-2:9876", 100.0), lambda: listing.refused("ns-2:9876")):
        call()  # an answer to an earlier question
        assert listing.listed(100.0) == ("ns-1:9876",)


def test_the_log_tells_each_change_once(listing: Listing, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    def told(now_s: float) -> list[str]:
        caplog.clear()
        listing.tell_changes(now_s)
        listing.tell_changes(now_s)
        return [f"{record.levelname} {record.message}" for record in caplog.records]

    assert told(99.0) == []
    listing.answered("ns-1:9876", 100.0)
    listing.answered("ns-2:9876", 100.0)
    assert told(100.0) == [f"INFO the address server lists the name server ns-{n}:9876" for n in (1, 2)]
    listing.set_addresses(["ns-1:9876"])
    gone = "WARNING the address server no longer lists the name server"
    assert told(100.0) == [f"{gone} ns-2:9876: it was removed from the peers"]
    assert told(111.0) == [
        f"{gone} ns-1:9876: it answered no lookup lately",
        "ERROR the address server lists no name server: brokers and clients keep the list that they have",
    ]
