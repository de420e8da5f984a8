"""What is found wrong with name servers and the broker groups that they show, and what mends it."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from rocketns.doctor.asking import gathering
from rocketns.doctor.asking.connecting import outcome_of
from rocketns.doctor.asking.gathering import LOOK_EVERY_S
from rocketns.doctor.checks.showing import setting
from rocketns.doctor.facts import BrokerFacts, NameServerFacts, Reaction, ServerKind
from rocketns.doctor.finding import Health
from rocketns.logs import escape
from tests.client.peers import CLOSED as REFUSING
from tests.client.peers import Serve
from tests.doctor.counting import FakeNameServer
from tests.doctor.examining import ONE, TWO, examined, found, gathered, ill, well

OTHER = "10.0.0.9:10911"


async def test_a_well_fleet_is_well() -> None:
    report = await examined(well(), well())
    assert (ill(report), report.of(Health.UNKNOWN), report.exit_status) == ([], [], 0)
    assert [one.kind for one in report.facts.name_servers] == [ServerKind.JAVA] * 2


async def test_a_name_server_that_refuses_is_named_and_the_other_one_serves() -> None:
    report = await examined(well(), addrs=(REFUSING,), topics=("Orders",))
    assert ill(report) == ["name-server-reachable"]
    assert found(report, "name-server-reachable").weight.name == "PARTLY"


async def test_a_missing_topic_comes_before_a_second_name_server_that_is_down() -> None:
    report = await examined(well(), addrs=(REFUSING,), topics=("Payments",))
    assert ill(report) == ["topic-missing", "name-server-reachable"]


async def test_a_name_server_that_waits_for_its_brokers_is_named() -> None:
    one = well()
    one.wrong = {codes.GET_ROUTEINFO_BY_TOPIC: 1}
    assert "waits for its brokers" in found(await examined(one), "name-server-reachable").sentence


async def test_what_each_name_server_lacks_is_named() -> None:
    other = FakeNameServer({"broker-a": {0: ONE}}, {"SELF_TEST_TOPIC": {"broker-a": {}}, "TBW102": {"broker-a": {}}})
    report = await examined(well(), other)
    second = report.facts.name_servers[1].addr
    assert ill(report) == ["name-servers-agree"]
    assert found(report, "name-servers-agree").sentence == (
        f"The name server {second} lacks brokers that others have (broker-b), and with them topics (Orders)."
    )


async def test_the_same_names_at_other_addresses_are_no_two_fleets() -> None:
    other = well()
    other.brokers = {"broker-a": {0: OTHER}, "broker-b": {0: "10.0.0.8:10911"}}
    assert set(ill(await examined(well(), other))) == {"two-masters"}


@pytest.mark.parametrize(("topic", "expected"), [("rmq_sys_wheel_timer", []), ("Payments", ["name-servers-agree"])])
async def test_nobody_misses_a_topic_that_brokers_make_for_themselves(topic: str, expected: list[str]) -> None:
    assert ill(await examined(well(), well(**{topic: {"broker-a": {}}}))) == expected


async def test_it_is_said_when_each_master_was_seen_first() -> None:
    one = well()
    one.later = [one.brokers, {"broker-a": {0: OTHER}, "broker-b": {0: TWO}}] * 2
    first, second = found(await examined(one, watch_s=20, every_s=0.01), "two-masters").evidence
    assert (f"{ONE}: seen at" in first, "after" in first) == (True, False)
    assert (f"{OTHER}: seen at" in second, second.endswith("after 0.02 s")) == (True, True)


async def test_of_a_name_in_two_clusters_no_address_need_be_known() -> None:
    one = well()
    one.clusters = {"other": ["gone"], "third": ["gone"]}
    finding = found(await examined(one), "broker-in-two-clusters")
    assert finding.commands[-1].endswith("brokerClusterName=other")


async def test_slaves_with_one_id_are_named() -> None:
    one, other = well(), well()
    one.brokers["broker-a"] = {0: ONE, 1: "10.0.0.7:10911"}
    other.brokers["broker-a"] = {0: ONE, 1: "10.0.0.8:10911"}
    assert ill(await examined(one, other)) == ["broker-id-moves"]


BROKERS = codes.GET_BROKER_CLUSTER_INFO


class Garbled(FakeNameServer):
    """Its answers to one request are no JSON."""

    garbled = BROKERS

    def answer(self, request):  # type: ignore[no-untyped-def]
        code, body = super().answer(request)
        return (0, b"\xff{") if request.code == self.garbled else (code, body)


def garbled(request: int) -> FakeNameServer:
    one = well()
    broken = Garbled(one.brokers, one.topics)
    broken.garbled = request
    return broken


@pytest.mark.parametrize("code", [1, 16, 999])
async def test_a_name_server_that_refuses_to_show_its_brokers_is_named(code: int) -> None:
    one = well()
    one.wrong[BROKERS] = code
    report = await examined(one)
    assert (report.exit_status, found(report, "name-server-reachable").state) == (2, Health.UNKNOWN)
    assert f"code {code}" in "".join(found(report, "name-server-reachable").evidence)


async def test_one_of_two_whose_route_cannot_be_read_is_named() -> None:
    report = await examined(well(), garbled(codes.GET_ROUTEINFO_BY_TOPIC), topics=("Orders",))
    assert (report.exit_status, found(report, "name-server-reachable").state) == (2, Health.UNKNOWN)


async def test_a_list_of_topics_that_cannot_be_read_is_a_note() -> None:
    report = await examined(garbled(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER), topics=("Orders",))
    assert (report.exit_status, found(report, "name-server-reachable").state) == (0, Health.UNKNOWN)


async def only(*serves: Serve, addrs: tuple[str, ...] = (), **options: Any) -> NameServerFacts:
    (facts,) = (await gathered(*serves, addrs=addrs, **options)).name_servers
    return facts


async def test_a_host_with_two_addresses_that_both_refuse_refuses() -> None:
    facts = await only(addrs=(f"localhost:{free_port()}",))
    assert facts.outcome is Reaction.REFUSED


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (OSError(errno.EHOSTUNREACH, "No route to host"), Reaction.NO_HOST),
        (OSError(errno.ENETUNREACH, "IpScope is unreachable"), Reaction.UNREACHABLE),
        (TimeoutError(errno.ETIMEDOUT, "Connection timed out"), Reaction.TIMED_OUT),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), Reaction.REFUSED),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), Reaction.CLOSED),
    ],
    ids=str,
)
def test_what_the_system_says_of_a_connection_is_told_apart(cause: OSError, outcome: Reaction) -> None:
    assert outcome_of(cause) is outcome


async def test_a_broker_is_no_name_server() -> None:
    """A broker answers request 106 with code 3, and is asked nothing else."""
    broker = FakeNameServer(wrong={codes.GET_BROKER_CLUSTER_INFO: 3})
    facts = await only(broker.serve)
    assert (facts.outcome, facts.kind, broker.received) == (Reaction.ANSWERED, ServerKind.OTHER, {106: 1})


async def test_looks_that_always_differ_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that shows other brokers at each look."""
    monkeypatch.setattr(gathering, "MEMBERS_MAX", 10)
    first = {"broker-a": {0: ONE}}
    changing = FakeNameServer(first, later=[{"broker-a": {0: f"10.1.0.{n}:1"}} for n in range(50)] + [first] * 50)
    (server,) = (await gathered(changing.serve, watch_s=100 * LOOK_EVERY_S)).name_servers
    assert len(server.looks) == 10
    assert server.groups not in [one.groups for one in server.looks]


MARK = "owned"
HOSTILE = f"b; touch {MARK} #`touch {MARK}`$(touch {MARK})'\"&|<>\n\x1b[2J\u202e"
QUIET = "mqadmin() { :; }; rocketns() { :; }; grep() { :; }; timedatectl() { :; }\n"


def slaves_of(name: str) -> FakeNameServer:
    one = FakeNameServer({name: {1: ONE}}, {"Orders": {name: {"perm": 4}}, "SELF_TEST_TOPIC": {name: {"perm": 4}}})
    one.clusters = {f"c{HOSTILE}": [name], f"d{HOSTILE}": [name]}
    return one


def masters_of(name: str) -> FakeNameServer:
    one = slaves_of(name)
    one.brokers = {name: {0: ONE}, "broker-b": {0: TWO}}
    return one


def two_masters_of(name: str) -> FakeNameServer:
    one = masters_of(name)
    one.later = [{name: {0: f"{TWO}{HOSTILE}"}}] * 2
    return one


@pytest.mark.parametrize("scene", [slaves_of, masters_of, two_masters_of])
async def test_names_of_peers_run_nothing_in_a_shell(scene: Callable[[str], FakeNameServer], tmp_path: Path) -> None:
    told = BrokerFacts(HOSTILE, 0, f"c{HOSTILE}", ONE, topics={HOSTILE: None, "Orders": {"perm": HOSTILE}})
    report = await examined(scene(HOSTILE), scene("broker-a"), topics=("Orders", HOSTILE), told=(told,), watch_s=10.0)
    lines = [escape(line) for finding in report.findings for line in finding.commands]
    assert any("brokerName=" in line for line in lines)
    for line in lines:
        subprocess.run(["bash", "-c", QUIET + line], cwd=tmp_path, check=False, capture_output=True, timeout=60)
        assert not (tmp_path / MARK).exists(), line


def test_a_line_of_broker_conf_is_a_comment_where_its_value_is_more_than_a_name() -> None:
    assert setting("brokerName", "broker-a_2.x") == "brokerName=broker-a_2.x"
    assert setting("brokerName", "订单") == "brokerName=订单"
    assert setting("brokerName", "a; rm x") == "# brokerName=a; rm x"


async def test_no_command_deletes_a_topic_of_other_brokers() -> None:
    """deleteTopic deletes it at every broker of the cluster, with its messages."""
    both = FakeNameServer({"broker-a": {0: ONE}, "broker-b": {0: TWO}}, {"Orders": {"broker-a": {}, "broker-b": {}}})
    only = FakeNameServer({"broker-a": {0: ONE}, "broker-b": {0: TWO}}, {"Orders": {"broker-a": {}}})
    lost = BrokerFacts("broker-a", 0, "c", ONE, topics={"Orders": None})
    shown = [found(await examined(one, topics=("Orders",), told=(lost,)), "topic-not-on-broker").commands
             for one in (both, only)]  # fmt: skip
    assert [any(line.startswith("mqadmin deleteTopic") for line in lines) for lines in shown] == [False, True]


async def test_a_command_that_asks_again_asks_the_same_question() -> None:
    """It is copied, so it must not lose the topic."""
    one = well()
    one.wrong |= {codes.GET_BROKER_CLUSTER_INFO: 16, codes.GET_ROUTEINFO_BY_TOPIC: 16}
    report = await examined(one, topics=("Orders", "a b"), groups=("readers",), from_client=True)
    (line,) = [line for line in found(report, "name-server-reachable").commands if not line.startswith("#")]
    (addr,) = report.facts.options.name_servers
    assert line == (f"ROCKETNS_ACCESS_KEY=KEY ROCKETNS_SECRET_KEY=SECRET rocketns doctor {addr} --topic Orders "
                    "--topic 'a b' --group readers --from-client")  # fmt: skip
