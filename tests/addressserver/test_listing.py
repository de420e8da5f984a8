"""Which name servers are listed, by the time of their last answer, and which if all are silent."""

from __future__ import annotations

import logging

import pytest

from rocketns.addressserver.listing import LISTED_S, Listing

KEEP_S = 60.0


@pytest.fixture
def listing() -> Listing:
    made = Listing(KEEP_S)
    made.set_addresses(["ns-2:9876", "ns-1:9876"])
    return made


def test_nobody_is_listed_before_an_answer(listing: Listing) -> None:
    assert listing.listed(0.0) == ((), None)


def test_a_server_that_answered_is_listed_for_a_while(listing: Listing) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.answered("ns-2:9876", 103.0)
    assert listing.listed(100.0 + LISTED_S) == (("ns-1:9876", "ns-2:9876"), None)
    assert listing.listed(100.1 + LISTED_S) == (("ns-2:9876",), None)


def test_the_last_list_is_kept_for_a_while_if_all_fall_silent(listing: Listing) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.answered("ns-2:9876", 103.0)
    assert listing.listed(103.0 + LISTED_S) == (("ns-2:9876",), None)
    assert listing.listed(104.0 + LISTED_S) == (("ns-1:9876", "ns-2:9876"), 1.0)
    assert listing.listed(103.0 + LISTED_S + KEEP_S) == (("ns-1:9876", "ns-2:9876"), KEEP_S)
    assert listing.listed(103.1 + LISTED_S + KEEP_S) == ((), None)


def test_one_answer_ends_the_keeping(listing: Listing) -> None:
    for addr in ("ns-1:9876", "ns-2:9876"):
        listing.answered(addr, 100.0)
    assert len(listing.listed(120.0).addresses) == 2
    listing.answered("ns-2:9876", 121.0)
    assert listing.listed(121.0) == (("ns-2:9876",), None)


def test_a_server_that_was_silent_first_or_is_not_ready_is_not_kept(listing: Listing) -> None:
    listing.set_addresses(["ns-1:9876", "ns-2:9876", "ns-3:9876", "ns-4:9876"])
    listing.answered("ns-1:9876", 100.0)
    for addr in ("ns-2:9876", "ns-3:9876", "ns-4:9876"):
        listing.answered(addr, 101.0 + LISTED_S)
    listing.refused("ns-3:9876")
    listing.set_addresses(["ns-1:9876", "ns-2:9876", "ns-3:9876"])
    assert listing.listed(102.0 + 2 * LISTED_S) == (("ns-2:9876",), 1.0)


def test_nothing_is_kept_where_the_time_is_0() -> None:
    listing = Listing(0.0)
    listing.set_addresses(["ns-1:9876"])
    listing.answered("ns-1:9876", 100.0)
    assert listing.listed(100.0 + LISTED_S) == (("ns-1:9876",), None)
    assert listing.listed(100.1 + LISTED_S) == ((), None)


def test_a_server_that_is_not_ready_is_not_listed(listing: Listing) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.refused("ns-1:9876")
    assert listing.listed(100.0) == ((), None)
    listing.answered("ns-1:9876", 103.0)
    assert listing.listed(103.0) == (("ns-1:9876",), None)


def test_the_list_is_sorted(listing: Listing) -> None:
    """Two address servers with the same servers give the same text. The order in their files does not matter."""
    for addr in ("ns-2:9876", "ns-1:9876"):
        listing.answered(addr, 100.0)
    assert listing.listed(100.0).addresses == ("ns-1:9876", "ns-2:9876")


def test_a_new_list_of_peers_keeps_what_is_known(listing: Listing) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.answered("ns-2:9876", 100.0)
    listing.set_addresses(["ns-3:9876", "ns-1:9876"])
    assert listing.listed(100.0).addresses == ("ns-1:9876",)
    for call in (lambda: listing.answered("ns-2:9876", 100.0), lambda: listing.refused("ns-2:9876")):
        call()  # an answer to an earlier question
        assert listing.listed(100.0).addresses == ("ns-1:9876",)


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
        "ERROR no name server answered the address server for 10 s: it goes on listing ns-1:9876 for 60 s. Check "
        "whether they run, and whether this machine reaches them"
    ]
    listing.answered("ns-1:9876", 112.0)
    assert told(112.0) == ["INFO name servers answer the address server again"]
    told(123.0)
    assert told(183.0) == [
        f"{gone} ns-1:9876: it answered no lookup lately",
        "ERROR the address server lists no name server: brokers and clients keep the list that they have",
    ]
