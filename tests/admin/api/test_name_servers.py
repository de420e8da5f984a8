"""What the API says of other name servers. `interop/operating/test_disagreeing.py` has real ones."""

from __future__ import annotations

from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import OWN, Disagreement, FleetState, Member, Side
from tests.admin.api.conftest import Ask
from tests.admin.conftest import Managed

HERE = Member(OWN, "rocketns", "", 1_000, 9_000, 2, 7)
OTHER = Member("10.0.0.2:9876", "other", "", 2_000, 9_000, 1, 7, differing_brokers=1)
DEAD = Member("10.0.0.3:9876", "", "connecting to 10.0.0.3:9876 failed", 3_000, None, None, None)
MISSING = Disagreement(
    FactKind.BROKER, "broker-b", 5_000, (Side("0=10.1.0.2:10911", (OWN,)), Side("missing", ("10.0.0.2:9876",)))
)


def test_each_name_server_has_its_numbers_or_why_it_cannot_be_read(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER, DEAD))
    rows = {row["address"]: row for row in ask("nameservers")["items"]}
    assert rows["10.0.0.2:9876"] == {
        "address": "10.0.0.2:9876", "kind": "other", "error": "", "since": 2_000, "read": 9_000, "brokerGroups": 1,
        "topics": 7, "differingBrokers": 1, "differingTopics": 0,
    }  # fmt: skip
    assert rows["10.0.0.3:9876"]["error"] == "connecting to 10.0.0.3:9876 failed"
    assert rows[OWN]["brokerGroups"] == 2


def test_a_disagreement_has_what_each_name_server_says(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER), (MISSING,))
    says = {OWN: "0=10.1.0.2:10911", "10.0.0.2:9876": "missing"}
    expected = {"kind": "broker", "name": "broker-b", "since": 5_000, "says": says}
    assert ask("disagreements", kind="broker")["items"] == [expected]
    assert ask("disagreements", kind="topic")["items"] == []


def test_the_status_names_what_the_fleet_does_not_say_alike(managed: Managed, ask: Ask) -> None:
    managed.controller.fleet.state = FleetState(9_000, (HERE, OTHER, DEAD), (MISSING,))
    reasons = [(one["level"], one["text"]) for one in ask("status")["reasons"]]
    assert ("critical", "Name servers disagree about broker broker-b") in reasons
    assert (
        "attention", "The name server 10.0.0.3:9876 cannot be read: connecting to 10.0.0.3:9876 failed",
    ) in reasons  # fmt: skip
