"""What two real Java consumers of one group do while name servers differ, and what `rocketns audit` says of it.

One broker is cut off from one name server. c1 asks a name server that has both brokers, c2 the one that has lost
broker-b: the worked example of docs/audit.md, with real clients.

Where reality leaves the model, read in the 5.5.0 client and broker, and asserted here:

- At first nothing differs. RebalanceImpl.rebalanceByTopic takes the queues from the client's own route and the members
  from MQClientInstance.findConsumerIdList, which asks a broker of that route, chosen at random each time. c2 no longer
  sees broker-b, but it is still in broker-b's list, so both lists are the same and the model's assumption holds.
- Then broker-b forgets c2. With the route c2 drops the broker (cleanOfflineBroker, before each heartbeat, 30 s by
  default) and sends it no more heartbeats, and ConsumerManager.scanNotActiveChannel drops a member that was not heard
  of for channelExpiredTimeout (120 s by default, looked at every 10 s). From then on c1 gets, by chance, a list of two
  from broker-a or a list of itself alone from broker-b, and at each rebalance (every 20 s by default) takes either its
  part or every queue it sees. Orphaned queues are consumed by turns; c2's own queues stay taken twice.

So orphaned queue-seconds of the audit are an upper bound in windows that last for longer than about two and a half
minutes with default settings, and right in shorter ones. The settings of `interop.audit.consumers` bring this to 20 s.
"""

from __future__ import annotations

import pytest

from interop.audit.consumers import (
    ADDRESSES,
    ALL,
    ASKS,
    BROKER_TIMEOUT_S,
    GROUP,
    MEMBER_TIMEOUT_S,
    SHARED,
    A,
    B,
    Compared,
    dup_seconds,
    orphaned_seconds,
    play,
)  # fmt: skip

# Against hangs: about 90 s on a quiet machine; the whole story is played before the first test.
pytestmark = pytest.mark.timeout(2400)
# How far a time that the test polled, or a client printed, may be from the journal's. A busy machine stops for seconds.
NEAR_MS = 10_000
JITTER_MS = 1_000


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    return Compared(play(tmp_path_factory.mktemp("truth")))


def test_the_audit_finds_the_cut_and_says_when_where_and_why(compared: Compared) -> None:
    story, window = compared.story, compared.window
    assert story.audit.status == 1, story.audit.said
    assert (window["broker"], window["cause"], window["opened_by"]) == ("broker-b", "expired", "n2")
    assert {v["ns"]: v["present"] for v in window["values"]} == story.shown == {"n1": True, "n2": False, "n3": True}
    assert abs(compared.opened - story.gone) < NEAR_MS
    assert abs(compared.closed - story.back) < NEAR_MS
    assert window["gap"] >= BROKER_TIMEOUT_S * 1000
    assert abs(compared.opened - window["gap"] - story.cut) < NEAR_MS, "the gap reaches back to the cut"
    assert [row["kind"] for row in compared.departures] == ["partition"]


def test_lookups_show_which_consumer_asks_which_name_server(compared: Compared) -> None:
    found = {(row["client"].split(":")[0], row["ns"], row["group"]) for row in compared.members}
    assert found == {(ADDRESSES[name], ns, GROUP) for name, ns in ASKS.items()}
    assert compared.real["c"] == 2


def test_consumers_have_the_queues_of_the_audit_while_brokers_know_all_members(compared: Compared) -> None:
    orphaned, dup = compared.lasting()
    assert (orphaned, dup) == (B, SHARED)
    assert set(compared.real["orphaned_ids"]) == orphaned
    assert set(compared.real["dup_ids"]) == dup
    assert compared.switched >= compared.opened - JITTER_MS
    # The model of the same views without lookups: the worst way is this one, the mean is over both ways.
    model = compared.impact["model"]
    assert (model["orphaned_mean"], model["orphaned_max"], model["dup_mean"], model["dup_max"]) == (3, 4, 1, 2)


def test_then_the_consumer_that_sees_both_brokers_takes_the_orphaned_queues_by_turns(compared: Compared) -> None:
    """Where the model ends: broker-b has forgotten c2, and c1 asks it or broker-a by chance."""
    assert compared.until_forgotten() > MEMBER_TIMEOUT_S - NEAR_MS / 1000
    parts = compared.parts(compared.forgotten, compared.story.healed)
    assert any(part.has["c1"] == ALL and not part.orphaned(ALL) for part in parts)
    assert any(part.has["c1"] == A and part.orphaned(ALL) == B for part in parts)
    assert all(part.dup(ALL) == SHARED for part in parts), "whoever has the rest, these two stay taken twice"


def test_queue_seconds_of_the_audit_bound_those_of_orphaned_queues_and_fit_those_taken_twice(
    compared: Compared,
) -> None:
    whole = compared.parts(compared.opened, compared.closed)
    late = compared.switched - compared.opened + NEAR_MS
    taken_twice = compared.real["dup_qs_max"]
    assert taken_twice - len(SHARED) * late / 1000 <= dup_seconds(whole, ALL) <= taken_twice + 1
    before = compared.parts(compared.opened, compared.forgotten)
    assert orphaned_seconds(before, ALL) <= orphaned_seconds(whole, ALL) < compared.real["orphaned_qs_max"]
    assert orphaned_seconds(before, ALL) > 0


def test_messages_of_orphaned_queues_wait_and_those_taken_twice_are_consumed_twice(compared: Compared) -> None:
    story = compared.story
    during = [m for m in story.sent if compared.switched + JITTER_MS < m.ms < compared.forgotten - JITTER_MS]
    waiting = {m.text for m in during if m.queue in B}
    shared = {m.text for m in during if m.queue in SHARED}
    assert waiting
    assert shared
    got = [m for of_one in story.got.values() for m in of_one if m.text in waiting]
    assert min(m.ms for m in got) > compared.forgotten - JITTER_MS
    for name in ADDRESSES:
        assert shared <= {m.text for m in story.got[name]}, f"{name} got what the other got too"


def test_after_healing_each_queue_has_one_consumer_and_no_message_was_lost(compared: Compared) -> None:
    story = compared.story
    after = compared.parts(story.ended - 1, story.ended)[0]
    assert (after.has["c1"], after.has["c2"]) == (A, B)
    assert not story.failed
    assert {m.text for m in story.sent} == {m.text for got in story.got.values() for m in got}
