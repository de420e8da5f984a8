"""Consumer groups that do not exist, may not consume, have no consumers, or do not get on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rocketns.doctor.asking.brokers import groups
from rocketns.doctor.finding import Finding, State, Weight
from tests.doctor.counting import NO_PERMISSION, FakeBroker, FakeNameServer, Reply, connected, group, listening, topic
from tests.doctor.examining import examine, ill

NEVER = {"autoCreateSubscriptionGroup": "false"}


def broker(name: str = "broker-a", **more: Any) -> FakeBroker:
    """A broker where the group `readers` is well; ``more`` replaces that."""
    fields: dict[str, Any] = {
        "topics": {"Orders": topic("Orders"), "%RETRY%readers": topic("%RETRY%readers", queues=1)},
        "groups": {"readers": group("readers")}, "consumers": {"readers": connected("Orders", "%RETRY%readers")},
        "offsets": {"readers": [("Orders", 4, 4)]},
    }  # fmt: skip
    return FakeBroker(name=name, **(fields | more))


def found(*brokers: FakeBroker, group: str = "readers", topics: tuple[str, ...] = ("Orders",)) -> list[Finding]:
    """What is wrong with the group."""

    async def scene() -> list[Finding]:
        name_server = FakeNameServer()
        async with listening(name_server, *brokers):
            name_server.shows(*brokers)
            return ill(await examine(name_server, topics=topics, groups=(group,)), "group")

    return asyncio.run(scene())


@pytest.mark.parametrize("topics", [("Orders",), ()])
def test_group_that_consumes_is_well(topics: tuple[str, ...]) -> None:
    assert not found(broker(), broker("broker-b"), topics=topics)


def test_unknown_group_without_consumers_may_be_misspelt() -> None:
    (finding,) = found(broker(), group="reader")
    assert finding.weight is Weight.EXPLAINS
    assert any("readers" in line for line in finding.evidence)


def test_slaves_have_no_consumers_while_their_master_is_there() -> None:
    assert not found(broker(), broker(broker_id=1, consumers={}))


def test_group_that_some_brokers_lack_exists() -> None:
    """Consumers that are gone were connected to one of them."""
    (finding,) = found(broker(consumers={}), broker("broker-b", groups={}, consumers={}))
    assert "No consumer of the group readers is connected" in finding.sentence


def test_group_that_is_not_created_automatically_is_created_by_a_command() -> None:
    one = broker(settings=NEVER, groups={}, consumers={})
    (finding,) = found(one)
    assert finding.weight is Weight.PRECISELY
    assert f"-b {one.addr} -g readers -m true -d true" in finding.commands[0]
    assert finding.commands[0].startswith("mqadmin updateSubGroup -n 127.0.0.1:")


def test_consumption_that_is_switched_off_is_switched_on_and_all_else_is_kept() -> None:
    (finding,) = found(broker(groups={"readers": group("readers", consumeEnable=False, retryMaxTimes=3)}))
    assert finding.weight is Weight.PRECISELY
    assert "-s true -m true -d true -q 1 -r 3 -i 0 -w 1 -a true -o false" in finding.commands[0]


def test_group_that_may_not_broadcast_is_told() -> None:
    one = broker(groups={"readers": group("readers", consumeBroadcastEnable=False)},
                 consumers={"readers": connected("Orders", model="BROADCASTING")})  # fmt: skip
    (finding,) = found(one)
    assert "-d true" in finding.commands[0]


def test_group_without_consumers() -> None:
    (finding,) = found(broker(consumers={}), broker("broker-b", consumers={}))
    assert finding.weight is Weight.EXPLAINS
    assert len(finding.evidence) == 2


def test_broker_without_consumers_while_others_have_them() -> None:
    (finding,) = found(broker(), broker("broker-b", consumers={}))
    assert finding.weight is Weight.PARTLY
    assert "broker-b" in finding.sentence


def test_consumers_that_subscribe_another_topic() -> None:
    (finding,) = found(broker(consumers={"readers": connected("Order", "%RETRY%readers")}))
    assert "they subscribe Order (" in finding.evidence[0]


class Moving(FakeBroker):
    """One message is consumed whenever somebody looks."""

    def _offsets(self, request: Any) -> Reply:
        answer = super()._offsets(request)
        self.offsets = {
            name: [(one, at, done + 1) for one, at, done in queues] for name, queues in self.offsets.items()
        }
        return answer


def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(_seconds: float) -> None:
        pass

    monkeypatch.setattr(groups, "sleep", sleep)


def test_group_whose_offsets_do_not_move_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    without_waiting(monkeypatch)
    (finding,) = found(broker(offsets={"readers": [("Orders", 10, 4), ("Orders", 3, 3)]}))
    assert "6 messages wait" in finding.sentence


def test_group_whose_offsets_move_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    without_waiting(monkeypatch)
    one = broker()
    moving = Moving(topics=one.topics, groups=one.groups, consumers=one.consumers,
                    offsets={"readers": [("Orders", 10, 4)]})  # fmt: skip
    assert not found(moving)


def test_offsets_of_a_group_that_broadcasts_are_not_looked_at() -> None:
    """Its consumers keep them."""
    one = broker(offsets={"readers": [("Orders", 10, 0)]},
                 consumers={"readers": connected("Orders", model="BROADCASTING")})  # fmt: skip
    assert not found(one)
    assert one.received[208] == 1


def test_retry_topic_that_cannot_be_written() -> None:
    topics = {"Orders": topic("Orders"), "%RETRY%readers": topic("%RETRY%readers", perm=4)}
    one = broker(topics=topics)
    (finding,) = found(one)
    assert finding.commands[0].endswith(f"updateTopicPerm -n {finding.commands[0].split()[3]} -b {one.addr} "
                                        "-t %RETRY%readers -p 6")  # fmt: skip


def test_brokers_that_refuse_to_say_leave_the_group_unknown() -> None:
    class Closed(FakeBroker):
        def reply(self, request: Any) -> Reply:
            return (NO_PERMISSION, b"") if request.code in (201, 203, 208, 352) else super().reply(request)

    async def scene() -> list[Finding]:
        one, name_server = Closed(topics={"Orders": topic("Orders")}), FakeNameServer()
        async with listening(name_server, one):
            name_server.shows(one)
            report = await examine(name_server, topics=("Orders",), groups=("readers",))
            return [finding for finding in report.of(State.UNKNOWN) if finding.check == "group"]

    (finding,) = asyncio.run(scene())
    assert "code 16" in finding.evidence[0]
    assert "--tools-yml" in finding.commands[0]
