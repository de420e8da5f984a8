"""What is said of a topic that clients find no route of."""

from __future__ import annotations

import pytest

from interop.harness import codes
from rocketns.doctor.facts import BrokerFacts
from rocketns.doctor.finding import Health, Weight
from rocketns.doctor.report import run
from tests.doctor.counting import FakeNameServer
from tests.doctor.examining import CREATION, ONE, SYSTEM, TWO, examined, found, ill, well
from tests.doctor.page import NS_1, fleet, name_server


def without_creation() -> FakeNameServer:
    one = well()
    del one.topics["TBW102"]
    return one


async def test_a_topic_that_no_broker_has_is_missing_and_the_command_creates_it() -> None:
    report = await examined(well(), topics=("Payments",))
    (addr,) = [one.addr for one in report.facts.name_servers]
    assert ill(report) == ["topic-missing"]
    assert found(report, "topic-missing").commands[0] == f"mqadmin updateTopic -n {addr} -c c -t Payments"


async def test_brokers_that_create_no_topics_are_named_where_others_do() -> None:
    one = without_creation()
    one.topics["TBW102"] = {"broker-a": {}}
    report = await examined(one, topics=("Payments",))
    assert ill(report) == ["topic-missing"]
    assert any("TBW102 lacks broker-b" in line for line in found(report, "topic-missing").evidence)


def test_nothing_is_said_of_automatic_creation_where_its_topic_was_not_answered() -> None:
    facts = fleet(name_server(NS_1, routes={"Payments": None}), topic="Payments")
    assert not [line for line in found(run(facts), "topic-missing").evidence if "TBW102" in line]


@pytest.mark.parametrize("typed", ["orders", "Oders", "Order", "Ordres", "Order-s"])
async def test_a_misspelt_topic_is_the_cause_even_where_no_broker_creates_topics(typed: str) -> None:
    report = await examined(without_creation(), topics=(typed,))
    assert ill(report) == ["topic-missing"]
    assert "but Orders" in found(report, "topic-missing").sentence


@pytest.mark.parametrize(("typed", "other"), [("Orders2", "Orders1"), ("TopicB", "TopicA")])
async def test_the_next_one_of_a_series_is_no_misspelling(typed: str, other: str) -> None:
    """Such a topic was rather never created. The near name is said after that."""
    report = await examined(well(**{other: {"broker-a": {}}}), topics=(typed,))
    assert ill(report) == ["topic-missing"]
    assert [line for line in found(report, "topic-missing").evidence if "names like it" in line and other in line]


async def test_near_names_cannot_be_told_where_topics_are_not_listed() -> None:
    one = well()
    one.wrong = {codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 1}
    report = await examined(one, topics=("oders",))
    assert any("names like it are not known" in line for line in found(report, "topic-missing").evidence)


async def test_a_topic_that_only_one_name_server_got_yet_is_named() -> None:
    report = await examined(well(New={"broker-b": {}}), well(), topics=("New",))
    assert "is registered there" in found(report, "topic-on-some-name-servers").sentence


@pytest.mark.parametrize(("enabled", "weight"), [("true", Weight.EXPLAINS), ("false", Weight.NOTE)])
async def test_an_order_configuration_that_clients_cannot_read_is_named(enabled: str, weight: Weight) -> None:
    one = well()
    one.order = {"Orders": "broker-a:4;broker-b", "Other": "broker-a:4;"}
    one.properties += f"orderMessageEnable={enabled}\n"
    report = await examined(one, topics=("Orders",))
    finding = found(report, "order-configuration")
    assert (ill(report), finding.weight) == (["order-configuration"], weight)
    assert "'broker-b'" in finding.evidence[0]


async def test_a_wiped_broker_is_the_cause_where_the_topic_has_no_other() -> None:
    wiped = {"broker-a": {"perm": 4}}
    one = well(OnlyA=wiped)
    one.topics["SELF_TEST_TOPIC"] = {"broker-a": {"perm": 4}, "broker-b": {}}
    report = await examined(one, topics=("OnlyA",))
    (addr,) = [one.addr for one in report.facts.name_servers]
    assert ill(report) == ["permission-wiped"]
    assert found(report, "permission-wiped").commands == (f"mqadmin addWritePerm -n {addr} -b broker-a",)


async def test_a_wiped_broker_of_other_topics_is_said_to_be_elsewhere() -> None:
    one = well(OnlyB={"broker-b": {}})
    one.topics["SELF_TEST_TOPIC"] = {"broker-a": {"perm": 4}, "broker-b": {}}
    report = await examined(one, topics=("OnlyB",))
    assert (ill(report), found(report, "permission-wiped").weight.name) == (["permission-wiped"], "ELSEWHERE")


LOST = BrokerFacts("broker-a", 0, "c", ONE, topics={"Orders": None})


async def test_such_a_topic_raises_the_suspicion_of_two_masters_which_is_looked_into() -> None:
    one = well()
    one.later = [one.brokers, {"broker-a": {0: "10.0.0.9:10911"}, "broker-b": {0: TWO}}, one.brokers]
    assert ill(await examined(one, topics=("Orders",), told=(LOST,)))[0] == "two-masters"
    assert one.received[codes.GET_BROKER_CLUSTER_INFO] == 3


async def test_what_is_asked_is_not_called_well_without_an_answer() -> None:
    one = FakeNameServer({"broker-a": {0: ONE}, "broker-b": {0: TWO}}, {**SYSTEM, **CREATION})
    one.wrong = {codes.GET_ROUTEINFO_BY_TOPIC: 1}
    report = await examined(one, topics=("Orders",))
    assert (ill(report), found(report, "topic-missing").state) == (["name-server-reachable"], Health.UNKNOWN)
    assert {"topic-read-only", "few-queues"} <= set(report.skipped)


@pytest.mark.parametrize(
    ("topic", "words"),
    [("%DLQ%readers", "failed to process"), ("%LMQ%x", "light message queue"),
     ("SCHEDULE_TOPIC_XXXX", "for itself"), ("rmq_sys_wheel_timer", "for itself"), ("orders ", "# if it exists")],
)  # fmt: skip
async def test_a_topic_that_nobody_can_create_has_no_command_to_create_it(topic: str, words: str) -> None:
    commands = found(await examined(well(), topics=(topic,)), "topic-missing").commands
    assert not [line for line in commands if line.startswith("mqadmin")]
    assert words in commands[0]


async def test_automatic_creation_is_not_why_a_dead_letter_topic_is_missing() -> None:
    assert ill(await examined(without_creation(), topics=("%DLQ%readers",))) == ["topic-missing"]


async def test_a_retry_topic_of_that_name_is_not_what_was_meant() -> None:
    one = well(**{"%RETRY%payments": {"broker-a": {}}})
    assert ill(await examined(one, topics=("payments",))) == ["topic-missing"]


async def test_brokers_without_a_master_are_not_where_a_topic_lacks() -> None:
    one = well(Created={"broker-a": {"readQueueNums": 4, "writeQueueNums": 4}})
    one.brokers["broker-b"] = {1: TWO}
    assert "few-queues" not in ill(await examined(one, topics=("Created",)))


async def test_a_group_whose_slave_acts_as_master_is_not_wiped() -> None:
    """A name server itself takes the permission to write from its routes."""
    one = well()
    one.brokers["broker-b"] = {1: TWO}
    one.topics["SELF_TEST_TOPIC"] = {"broker-a": {}, "broker-b": {"perm": 4}}
    assert ill(await examined(one)) == ["slave-without-master"]
