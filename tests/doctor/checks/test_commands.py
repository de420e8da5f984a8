"""Lines that a reader copies into a shell do nothing that a peer chose."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from rocketns.doctor.checks.showing import again, setting
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.options import Options
from rocketns.logtext import escape
from tests.doctor.standin import ONE, TWO, StandIn, examined, found, well

MARK = "owned"
HOSTILE = f"b; touch {MARK} #`touch {MARK}`$(touch {MARK})'\"&|<>\n\x1b[2J\u202e"
QUIET = "mqadmin() { :; }; rocketns() { :; }; grep() { :; }; timedatectl() { :; }\n"


def slaves_of(name: str) -> StandIn:
    one = StandIn({name: {1: ONE}}, {"Orders": {name: {"perm": 4}}, "SELF_TEST_TOPIC": {name: {"perm": 4}}})
    one.clusters = {f"c{HOSTILE}": [name], f"d{HOSTILE}": [name]}
    return one


def masters_of(name: str) -> StandIn:
    one = slaves_of(name)
    one.brokers = {name: {0: ONE}, "broker-b": {0: TWO}}
    return one


def two_masters_of(name: str) -> StandIn:
    one = masters_of(name)
    one.later = [{name: {0: f"{TWO}{HOSTILE}"}}] * 2
    return one


@pytest.mark.parametrize("scene", [slaves_of, masters_of, two_masters_of])
def test_names_of_peers_run_nothing_in_a_shell(scene: Callable[[str], StandIn], tmp_path: Path) -> None:
    told = BrokerFacts(HOSTILE, 0, f"c{HOSTILE}", ONE, topics={HOSTILE: None, "Orders": {"perm": HOSTILE}})
    report = examined(scene(HOSTILE), scene("broker-a"), topics=("Orders", HOSTILE), told=(told,), watch_s=10.0)
    lines = [escape(line) for finding in report.findings for line in finding.commands]
    assert any("brokerName=" in line for line in lines)
    for line in lines:
        subprocess.run(["bash", "-c", QUIET + line], cwd=tmp_path, check=False, capture_output=True, timeout=60)
        assert not (tmp_path / MARK).exists(), line


def test_a_line_of_broker_conf_is_a_comment_where_its_value_is_more_than_a_name() -> None:
    assert setting("brokerName", "broker-a_2.x") == "brokerName=broker-a_2.x"
    assert setting("brokerName", "订单") == "brokerName=订单"
    assert setting("brokerName", "a; rm x") == "# brokerName=a; rm x"


def test_no_command_deletes_a_topic_of_other_brokers() -> None:
    """deleteTopic deletes it at every broker of the cluster, with its messages."""
    both = StandIn({"broker-a": {0: ONE}, "broker-b": {0: TWO}}, {"Orders": {"broker-a": {}, "broker-b": {}}})
    only = StandIn({"broker-a": {0: ONE}, "broker-b": {0: TWO}}, {"Orders": {"broker-a": {}}})
    lost = BrokerFacts("broker-a", 0, "c", ONE, topics={"Orders": None})
    shown = [found(examined(one, topics=("Orders",), told=(lost,)), "topic-not-on-broker").commands
             for one in (both, only)]  # fmt: skip
    assert [any(line.startswith("mqadmin deleteTopic") for line in lines) for lines in shown] == [False, True]


def test_a_command_that_asks_again_asks_the_same_question() -> None:
    """It is copied, so it must not lose the topic."""
    one = well()
    one.wrong |= {codes.GET_BROKER_CLUSTER_INFO: 16, codes.GET_ROUTEINFO_BY_TOPIC: 16}
    report = examined(one, topics=("Orders", "a b"), groups=("readers",), from_client=True)
    (line,) = [line for line in found(report, "name-server-reachable").commands if not line.startswith("#")]
    (addr,) = report.facts.options.name_servers
    assert line == (f"rocketns doctor {addr} --topic Orders --topic 'a b' --group readers --from-client "
                    "--tools-yml $ROCKETMQ_HOME/conf/tools.yml")  # fmt: skip


def test_asking_again_with_tls_keeps_tls() -> None:
    options = Options(("a:1", "b:1"), brokers=("c:1",), tls=True)
    assert again(Facts(options, ())) == "rocketns doctor 'a:1;b:1' --broker c:1 -Dtls.enable=true"


def test_no_alternative_is_offered_to_nothing() -> None:
    """Without a broker there is no cluster to create the topic in."""
    assert [line[:6] for line in found(examined(StandIn(), topics=("X",)), "topic-missing").commands] == ["# if i"]


def test_no_command_deletes_the_topic_of_a_second_master() -> None:
    """Two brokers have one name: the other one has the topic, and its messages."""
    one = StandIn({"broker-a": {0: ONE}}, {"Orders": {"broker-a": {}}}, later=[{"broker-a": {0: TWO}}])
    lost = BrokerFacts("broker-a", 0, "c", ONE, topics={"Orders": None})
    commands = found(examined(one, topics=("Orders",), told=(lost,)), "topic-not-on-broker").commands
    assert not [line for line in commands if line.startswith("mqadmin deleteTopic")]
