"""`rocketns shadow` in front of a Java name server, before real brokers, clients and mqadmin (docs/shadow.md).

The tests share a cluster, and run in the order of this file: first nothing differs, then differences are planted, then
processes are killed.
"""

from __future__ import annotations

import pytest

from interop.harness import codes, views
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.fleet import name_server_list
from interop.harness.sending.flow import assert_each_arrives_once, stop_and_check
from interop.harness.sending.programs import Program, assert_program_sends_and_receives
from interop.harness.wire import eventually
from interop.messages.test_clients_languages import PROGRAMS
from interop.shadowing.conftest import MESSAGES_BETWEEN, STEADY, TOPICS, Scene, UnderLoad
from interop.shadowing.shadow import Shadow

MESSAGES = 150
WITHIN_S = 240.0
BROKER = f"broker-{CURRENT}"


@pytest.mark.parametrize(("sender", "receiver"), [(CURRENT, OLD), (OLD, CURRENT)])
def test_java_clients_of_two_releases_and_brokers_of_three_see_no_difference(
    without_difference: Scene, sender: str, receiver: str
) -> None:
    fleet, shadow = without_difference.fleet, without_difference.shadow
    assert set(views.brokers(shadow)) == {broker.name for broker in without_difference.brokers.values()}
    producer = fleet.producer([shadow], TOPICS[sender], MESSAGES, version=sender)
    consumer = fleet.consumer([shadow], TOPICS[sender], f"readers-{sender.replace('.', '-')}", version=receiver)
    assert_each_arrives_once(producer, consumer, MESSAGES)


@pytest.mark.parametrize("program", [program.case() for program in PROGRAMS])
def test_clients_in_other_languages_see_no_difference(without_difference: Scene, program: Program) -> None:
    server, broker = name_server_list(without_difference.shadow), without_difference.brokers[CURRENT]
    assert_program_sends_and_receives(program, server, broker, without_difference.fleet)


def test_mqadmin_sees_no_difference(without_difference: Scene) -> None:
    """Reads, and writes that reach both: KV, permission, configuration, topics."""
    shadow = without_difference.shadow
    admin = without_difference.fleet.admin(shadow)
    address = without_difference.brokers[CURRENT].address
    for words, printed in (
        (("clusterList",), BROKER),
        (("topicList",), STEADY),
        (("topicRoute", "-t", STEADY), BROKER),
        (("updateTopic", "-b", address, "-t", "Managed", "-r", "3", "-w", "3"), "create topic to .* success"),
        (("updateOrderConf", "-t", "Managed", "-m", "put", "-v", f"{BROKER}:3"), "update orderConf success"),
        (("updateOrderConf", "-t", "Managed", "-m", "get"), rf"{BROKER}:3"),
        (("wipeWritePerm", "-b", BROKER), "OK, "),
        (("addWritePerm", "-b", BROKER), "OK, "),
        (("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true"), "update name server config success"),
        (("getNamesrvConfig",), "orderMessageEnable"),
        (("deleteTopic", "-c", "InteropCluster", "-t", "Managed"), "delete topic .* from NameServer success"),
    ):
        admin.run(*words).prints(printed)


def test_a_planted_difference_is_found_and_is_gone_when_it_is_taken_back(scene: Scene) -> None:
    """A permission that was wiped in the half alone is what a fault of rocketns would look like."""
    assert not scene.new_outcomes()["different"]
    wiped_in_half(scene.shadow, codes.WIPE_WRITE_PERM_OF_BROKER)
    assert views.perms(scene.shadow, STEADY)[BROKER] == 6, "clients get the upstream's answer"
    eventually(lambda: scene.new_outcomes()["different"], WITHIN_S)
    wiped_in_half(scene.shadow, codes.ADD_WRITE_PERM_OF_BROKER)
    assert views.perms(scene.shadow, STEADY)[BROKER] == 6
    assert not scene.new_outcomes()["different"]


def test_the_switch_and_back_loses_no_message_and_closes_no_connection(scene: Scene, under_load: UnderLoad) -> None:
    """After it rocketns answers: shown by a permission that only it has."""
    shadow, load = scene.shadow, under_load("switch")
    for to, permission in (("serve", 4), ("pass", 6)):
        shadow.switch(to)
        wiped_in_half(shadow, codes.WIPE_WRITE_PERM_OF_BROKER)
        assert views.perms(shadow, STEADY)[BROKER] == permission
        wiped_in_half(shadow, codes.ADD_WRITE_PERM_OF_BROKER)
        late = scene.fleet.consumer([shadow], load.topic, f"readers-{to}")
        late.wait_for("GOT", MESSAGES_BETWEEN)
        late.kill()
        load.goes_on()
    stop_and_check(load.producer, load.consumer)


@pytest.mark.parametrize("which", ["half", "judge"])
def test_a_killed_half_or_judge_disturbs_no_client_and_comes_back(
    scene: Scene, under_load: UnderLoad, which: str
) -> None:
    """While rocketns serves: the upstream answers until the half is back and knows the brokers."""
    shadow, load = scene.shadow, under_load(which)
    shadow.switch("serve")
    killed = getattr(shadow, which)
    killed.kill()
    assert len(views.perms(shadow, STEADY)) == len(scene.brokers)
    eventually(lambda: (now := getattr(shadow, which)) and now.pid != killed.pid, WITHIN_S, every_s=0.2)
    assert len(views.perms(shadow, STEADY)) == len(scene.brokers)
    load.goes_on()
    shadow.switch("pass")
    stop_and_check(load.producer, load.consumer)


def test_a_killed_relay_ends_all_three_and_clients_connect_again_to_the_next(
    scene: Scene, under_load: UnderLoad
) -> None:
    shadow, load = scene.shadow, under_load("relay")
    children = shadow.children
    shadow.kill()
    eventually(lambda: not any(child.is_running() for child in children), WITHIN_S)
    shadow.start()
    eventually(lambda: len(views.brokers(shadow)) == len(scene.brokers), WITHIN_S)
    load.consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    stop_and_check(load.producer, load.consumer)


def wiped_in_half(shadow: Shadow, code: int) -> None:
    """Wipe the write permission of a broker, or add it, past the relay: the upstream does not know."""
    with shadow.connect_to_half() as half:
        assert half.request(code, {"brokerName": BROKER}).code == codes.SUCCESS
