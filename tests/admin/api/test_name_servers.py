"""What the API says of other name servers. `interop/operating/test_disagreeing.py` has real ones."""

from __future__ import annotations

from rocketns.fleet.comparing import FactKind
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.state import MISSING, OWN, Disagreement, FleetState, Member, Part, Side
from rocketns.protocol.body.route import QueueData
from tests.admin.api.conftest import Ask
from tests.admin.conftest import Managed

HERE = Member(OWN, "rocketns", "", 1_000, 9_000, 2, 7)
OTHER = Member("10.0.0.2:9876", "other", "", 2_000, 9_000, 1, 7, differing_brokers=1)
DEAD = Member("10.0.0.3:9876", "", "connecting to 10.0.0.3:9876 failed", 3_000, None, None, None)
GROUP = GroupView("C", ((0, "10.1.0.2:10911"),), None, False)
LACKED = Disagreement(
    FactKind.BROKER, "broker-b", 5_000,
    (Side("C 0=10.1.0.2:10911", (OWN,), GROUP), Side(MISSING, ("10.0.0.2:9876",))), (Part.MISSING,), (), 213,
)  # fmt: skip
QUEUES = QueueData(8, 8, 6, 0)
FOLLOWING = Disagreement(
    FactKind.TOPIC, "orders", 5_000,
    (Side("broker-b …", (OWN,), None, (("broker-b", QUEUES),)), Side("…", ("b",), None, (("broker-b", None),))),
    (Part.BROKERS,), ("broker-b",), 213,
)  # fmt: skip


def test_each_name_server_has_its_numbers_or_why_it_cannot_be_read(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER, DEAD))
    rows = {row["address"]: row for row in ask("nameservers")["items"]}
    assert rows["10.0.0.2:9876"] == {
        "address": "10.0.0.2:9876", "kind": "other", "error": "", "since": 2_000, "read": 9_000, "brokerGroups": 1,
        "topics": 7, "differingBrokers": 1, "differingTopics": 0, "followingTopics": 0,
    }  # fmt: skip
    assert rows["10.0.0.3:9876"]["error"] == "connecting to 10.0.0.3:9876 failed"
    assert rows[OWN]["brokerGroups"] == 2


def test_a_disagreement_has_what_each_name_server_says(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER), (LACKED,))
    says = {OWN: "C 0=10.1.0.2:10911", "10.0.0.2:9876": "missing"}
    own = {"members": [OWN], "missing": False, "cluster": "C", "addresses": {"0": "10.1.0.2:10911"}, "queues": []}
    other = {"members": ["10.0.0.2:9876"], "missing": True, "cluster": None, "addresses": {}, "queues": []}
    expected = {"kind": "broker", "name": "broker-b", "since": 5_000, "says": says, "parts": ["missing"],
                "follows": [], "topics": 213, "sides": [own, other]}  # fmt: skip
    assert ask("disagreements", kind="broker")["items"] == [expected]
    assert ask("disagreements", kind="topic")["items"] == []


def test_topics_that_follow_from_a_missing_broker_are_apart_and_have_their_queues(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER), (LACKED, FOLLOWING))
    assert [one["name"] for one in ask("disagreements", follows="")["items"]] == ["broker-b"]
    (row,) = ask("disagreements", follows="broker-b")["items"]
    assert [side["queues"] for side in row["sides"]] == [
        [{"broker": "broker-b", "readQueues": 8, "writeQueues": 8, "permission": 6}],
        [{"broker": "broker-b", "readQueues": None, "writeQueues": None, "permission": None}],
    ]
    assert "disagreeTopic" not in [one["name"] for one in ask("status")["reasons"]]


def test_the_status_names_what_the_fleet_does_not_say_alike(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER, DEAD), (LACKED,))
    found = ask("status")["reasons"]
    (cause,) = (one for one in found if one["name"] == "disagreeBroker")
    assert cause["n"] == 213  # topics follow from it
    reasons = [(one["level"], one["text"]) for one in found]
    assert ("critical", "Name servers disagree about broker broker-b") in reasons
    assert (
        "attention", "The name server 10.0.0.3:9876 cannot be read: connecting to 10.0.0.3:9876 failed",
    ) in reasons  # fmt: skip
