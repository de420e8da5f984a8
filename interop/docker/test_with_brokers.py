"""Deployments with real brokers: what they send and find, and what a restart, a kill or a new name server changes."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial

import pytest

from interop.docker import deployments
from interop.docker.containers import Container
from interop.docker.deployments import Project
from interop.docker.images import Images
from interop.harness import views
from interop.harness.wire import Client, eventually
from tests.behaviour import calls
from tests.support.tlsclient import TlsClient, is_served

TOPIC = "Orders"
MESSAGES = 1000
# A broker's boot on a busy machine, and its first period of registrations.
REGISTERED_WITHIN_S = 240.0
FOUND_BY_DNS_WITHIN_S = 240.0


@pytest.fixture
def one_broker(projects: dict[str, Project]) -> Project:
    """The project once its broker has registered, with its name server alone."""
    project = projects["one-broker"]
    wait_for_group(project.container("rocketns"), {0})
    return project


def wait_for_group(server: Container, ids: set[int]) -> None:
    """Wait until these members of broker-a are registered."""
    server.wait_until_it_serves()
    eventually(lambda: members(server) == ids, REGISTERED_WITHIN_S, every_s=0.3)


def members(server: Container) -> set[int]:
    return set(views.brokers(server).get("broker-a", {}))


def test_each_of_1000_messages_arrives_exactly_once(one_broker: Project, built: Images) -> None:
    """Scenario a: the topic is made by the first message, so all that the consumer knows comes from the name server."""
    deployments.assert_each_arrives_once(one_broker, built.rocketmq, "rocketns:9876", TOPIC, MESSAGES)


def stop_and_start(project: Project) -> None:
    project.container("rocketns").restart()


def kill_and_start(project: Project) -> None:
    server = project.container("rocketns")
    server.send(signal.SIGKILL)
    server.wait()
    server.start()


def replace_the_container(project: Project) -> None:
    before = project.container("rocketns")
    project.up("--force-recreate", "--no-deps", "rocketns")
    assert project.container("rocketns").id != before.id


@pytest.mark.parametrize("interrupt", [stop_and_start, kill_and_start, replace_the_container], ids=lambda f: f.__name__)
def test_routes_and_kv_are_there_again_with_the_volume(
    one_broker: Project, interrupt: Callable[[Project], None]
) -> None:
    server = one_broker.container("rocketns")
    before = views.routes(server)
    with server.connect() as client:
        calls.put_kv(client, "N", "key", "kept")
    interrupt(one_broker)
    server = one_broker.container("rocketns")
    server.wait_until_it_serves()
    assert views.routes(server) == before, "the first answers have all routes, however long the broker waits"
    assert views.kv(server, "N", "key") == "kept"


def test_broker_finds_further_name_servers_by_dns(one_broker: Project) -> None:
    """From one name server to three: neither the broker nor the first name server is restarted."""
    broker, first = one_broker.container("broker"), one_broker.container("rocketns")
    started = broker.state()["StartedAt"], first.state()["StartedAt"]
    one_broker.up("--scale", "more=2", "--no-recreate")
    servers = [first, *one_broker.containers("more")]
    assert len(servers) == 3
    for server in servers[1:]:
        server.wait_until_it_serves()
    eventually(lambda: all(members(server) == {0} for server in servers), FOUND_BY_DNS_WITHIN_S, every_s=0.5)
    assert (broker.state()["StartedAt"], first.state()["StartedAt"]) == started


def test_slave_finds_its_master_and_the_route_follows(projects: dict[str, Project]) -> None:
    project = projects["master-and-slave"]
    server, master = project.container("rocketns"), project.container("master")
    wait_for_group(server, {0, 1})
    master.send(signal.SIGKILL)
    wait_for_group(server, {1})
    assert set(views.addresses(server, "TBW102").get("broker-a", {1: ""})) == {1}
    master.start()
    wait_for_group(server, {0, 1})


def test_clients_use_javas_name_server_while_rocketns_is_killed(projects: dict[str, Project], built: Images) -> None:
    """Both have the same routes; without one of them, clients go on with the other."""
    project = projects["two-name-servers"]
    ours, java = project.container("rocketns"), project.container("java")
    for server in (ours, java):
        wait_for_group(server, {0})
    eventually(lambda: views.routes(ours) == views.routes(java), REGISTERED_WITHIN_S, every_s=0.5)
    kill = partial(ours.send, signal.SIGKILL)
    names = "java:9876;rocketns:9876"
    deployments.assert_each_arrives_once(project, built.rocketmq, names, TOPIC, 100, pause_ms=200, meanwhile=kill)
    ours.wait()
    ours.start()
    wait_for_group(ours, {0})
    eventually(lambda: views.routes(ours) == views.routes(java), REGISTERED_WITHIN_S, every_s=0.5)


def test_all_use_tls(projects: dict[str, Project], built: Images) -> None:
    project = projects["tls"]
    port = project.container("rocketns").port()
    eventually(lambda: is_served(lambda: TlsClient(port)), REGISTERED_WITHIN_S, every_s=0.2)
    assert not is_served(lambda: Client(port)), "plain connections are refused"
    assert project.container("rocketns").is_healthy()
    deployments.assert_each_arrives_once(
        project, built.rocketmq, "rocketns:9876", TOPIC, 20, options=project.environment["PEER"]
    )
