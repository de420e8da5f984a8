"""Name servers that answer, and whose answers say nothing: that is never "all is well"."""

from __future__ import annotations

import pytest

from interop.harness import codes
from rocketns.doctor.finding import State
from tests.doctor.standin import StandIn, examined, found, well

BROKERS = codes.GET_BROKER_CLUSTER_INFO


class Garbled(StandIn):
    """Its answers to one request are no JSON."""

    garbled = BROKERS

    def answer(self, request):  # type: ignore[no-untyped-def]
        code, body = super().answer(request)
        return (0, b"\xff{") if request.code == self.garbled else (code, body)


def garbled(request: int) -> StandIn:
    one = well()
    broken = Garbled(one.brokers, one.topics)
    broken.garbled = request
    return broken


@pytest.mark.parametrize("code", [1, 16, 999])
def test_a_name_server_that_refuses_to_show_its_brokers_is_named(code: int) -> None:
    one = well()
    one.wrong[BROKERS] = code
    report = examined(one)
    assert (report.exit_status, found(report, "name-server-reachable").state) == (2, State.UNKNOWN)
    assert f"code {code}" in "".join(found(report, "name-server-reachable").evidence)


def test_one_that_refuses_unsigned_requests_is_named_once_with_the_way_to_sign() -> None:
    one = well()
    one.wrong |= {BROKERS: 16, codes.GET_ROUTEINFO_BY_TOPIC: 16}
    report = examined(one, topics=("Orders",))
    (finding,) = [one for one in report.of(State.UNKNOWN) if one.check == "name-server-reachable"]
    assert any("--tools-yml" in line for line in finding.commands)


def test_one_whose_brokers_cannot_be_read_is_named() -> None:
    report = examined(garbled(BROKERS))
    assert (report.exit_status, found(report, "name-server-reachable").state) == (2, State.UNKNOWN)


def test_one_of_two_whose_route_cannot_be_read_is_named() -> None:
    report = examined(well(), garbled(codes.GET_ROUTEINFO_BY_TOPIC), topics=("Orders",))
    assert (report.exit_status, found(report, "name-server-reachable").state) == (2, State.UNKNOWN)


def test_a_list_of_topics_that_cannot_be_read_is_a_note() -> None:
    report = examined(garbled(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER), topics=("Orders",))
    assert (report.exit_status, found(report, "name-server-reachable").state) == (0, State.UNKNOWN)
