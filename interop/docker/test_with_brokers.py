"""Deployments with real brokers: what they send and find, and what a new container or further name servers change."""

from __future__ import annotations

import pytest

from interop.docker.containers import Container
from interop.docker.deployments import Project, assert_each_arrives_once
from interop.docker.images import Images
from interop.harness import views
from interop.harness.wire import eventually
from tests.behaviour import calls

TOPIC = "Orders"
MESSAGES = 1000
# A broker's boot on a busy machine, and its first period of registrations.
REGISTERED_WITHIN_S = 240.0


@pytest.fixture
def one_broker(project: Project) -> Project:
    """The project once its broker has registered."""
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
    assert_each_arrives_once(one_broker, built.rocketmq, "rocketns:9876", TOPIC, MESSAGES)


def replace_the_container(project: Project) -> None:
    before = project.container("rocketns")
    project.up("--force-recreate", "--no-deps", "rocketns")
    assert project.container("rocketns").id != before.id


def test_routes_and_kv_are_there_again_with_the_volume(one_broker: Project) -> None:
    server = one_broker.container("rocketns")
    before = views.routes(server)
    with server.connect() as client:
        calls.put_kv(client, "N", "key", "kept")
    replace_the_container(one_broker)
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
    eventually(lambda: all(members(server) == {0} for server in servers), REGISTERED_WITHIN_S, every_s=0.5)
    assert (broker.state()["StartedAt"], first.state()["StartedAt"]) == started
