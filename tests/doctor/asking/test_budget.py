"""What is asked of a name server, counted by the name server."""

from __future__ import annotations

from collections import Counter

import pytest

from interop.harness import codes
from rocketns.doctor.asking.requests import Budget, OverBudgetError, name_server_budget
from rocketns.doctor.facts.options import Options
from rocketns.protocol.codes import RequestCode
from tests.doctor.standin import DIGESTS, examined, well

# A name server takes 322, 904 and 103 as a sign of life of the broker that they name; 224 costs Java's a second.
NEVER = {322, 904, 103, 104, 205, 216, 217, 224, 318, 327, 100, 102}


def test_each_request_is_sent_once_and_a_lookup_for_each_topic() -> None:
    one = well()
    examined(one, topics=("Orders", "orders"), groups=("g",))
    assert Counter(one.asked) == {106: 1, 206: 1, 319: 1, DIGESTS: 1, codes.GET_ROUTEINFO_BY_TOPIC: 5}


def test_the_report_says_what_the_name_server_counted() -> None:
    one = well()
    (requests,) = examined(one, topics=("Orders",)).facts.requests
    (sent,) = requests.sent.values()
    assert sum(sent.values()) == len(one.asked)
    assert all(sent[name] <= requests.most[name] for name in sent)


def test_nothing_that_changes_or_costs_may_be_sent() -> None:
    budget = name_server_budget(Options(("a:1",), ("T",), ("g",)))
    for code in NEVER:
        with pytest.raises(OverBudgetError):
            budget.spend("a:1", code)


def test_a_budget_holds_for_each_address() -> None:
    budget = Budget({RequestCode.GET_NAMESRV_CONFIG: 1})
    budget.spend("a:1", 319)
    budget.spend("b:1", 319)
    with pytest.raises(OverBudgetError):
        budget.spend("a:1", 319)
