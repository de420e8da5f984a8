"""Refused requests over sockets: who gets an answer, and what is not decided at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually
from rocketns.access.classes import Mode
from rocketns.access.policy import OPEN
from tests.access.conftest import StartGuarded
from tests.access.signing import signed
from tests.support.inprocess import TimedServer

POLICY = """
[modes]
lookup = "enforce"
read = "enforce"
broker = "enforce"
admin = "enforce"

[keys.k1]
secret = "a secret of the test"

[principals.nobody]
keys = ["k1"]
may = ["lookup"]
"""
ONEWAY, RESPONSE = 2, 1
REFUSED = 16
BODY = register_body([topic_config("T"), topic_config("U")])
KV = {"namespace": "n", "key": "k", "value": "v"}


@pytest.fixture(params=[0, 2], ids=["loop", "reactors"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TimedServer]:
    """It refuses everything that is not signed."""
    policy = tmp_path / "access.toml"
    policy.write_text(POLICY, "utf-8")
    started = TimedServer(tmp_path, {"rocketns.accessFile": policy, "rocketns.reactors": request.param})
    yield started
    started.stop()


def refused(server: TimedServer) -> int:
    guard = server.controller.core.context.guard
    return server.call(lambda: sum(n for one, n in guard.decisions.items() if one.reason and one.mode is Mode.ENFORCE))


@pytest.fixture
def client(server: TimedServer) -> Iterator[Client]:
    with server.connect() as connection:
        yield connection


def test_a_refused_request_is_answered_with_the_reason(client: Client) -> None:
    answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert answer.code == codes.NO_PERMISSION
    assert "the request is not signed" in (answer.remark or "")


@pytest.mark.parametrize("code", [codes.PUT_KV_CONFIG, codes.REGISTER_BROKER, codes.GET_ROUTEINFO_BY_TOPIC])
def test_a_refused_oneway_request_gets_nothing_and_does_nothing(server: TimedServer, client: Client, code: int) -> None:
    client.post(code, KV | {"topic": "T"}, flag=ONEWAY)
    assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == codes.NO_PERMISSION  # the first answer is to this one
    assert refused(server) == 2
    assert server.call(lambda: server.controller.core.context.kv_config.namespace("n")) is None


@pytest.mark.parametrize("key", ["k1", "unknown", None])
@pytest.mark.parametrize("code", [codes.GET_ROUTEINFO_BY_TOPIC, codes.PUT_KV_CONFIG])
def test_a_frame_that_says_it_is_an_answer_is_not_a_request(
    server: TimedServer, client: Client, key: str | None, code: int
) -> None:
    """Nobody asked the peer for anything. Its key is not looked at, and nothing is refused or answered."""
    client.post(code, KV | {"topic": "T"} | ({} if key is None else {"AccessKey": key}), flag=RESPONSE)
    assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == codes.NO_PERMISSION
    assert refused(server) == 1


def test_a_refused_request_of_a_peer_that_left_changes_nothing(server: TimedServer) -> None:
    """It has an effect, so it would be carried out although nobody gets the answer."""
    with server.connect() as client:
        client.post(codes.PUT_KV_CONFIG, KV)
    eventually(lambda: refused(server) == 1)
    assert server.call(lambda: server.controller.core.context.kv_config.namespace("n")) is None


def test_a_policy_that_ended_leaves_no_principal_behind(server: TimedServer, client: Client) -> None:
    """The next administrator's request is not recorded as that of the last known one."""
    context = server.controller.core.context

    def forget() -> None:
        context.asked_by("p", "k1")
        context.guard.follow(OPEN)

    server.call(forget)
    assert client.request(codes.PUT_KV_CONFIG, KV).code == codes.SUCCESS
    assert server.call(lambda: (context.principal, context.access_key)) == (None, None)


def test_in_cluster_test_mode_every_code_asks_for_a_route(start_guarded: StartGuarded) -> None:
    policy = """
        [modes]
        lookup = "enforce"
        [principals.p]
        networks = ["192.0.2.0/24"]
        may = ["lookup"]
    """
    with start_guarded(policy, {"clusterTest": "true"}).connect() as client:
        assert [client.request(code, {"topic": "T"}).code for code in (105, 106, 205, 9_999)] == [REFUSED] * 4


def test_a_signed_request_beyond_the_rate_is_told_so(tmp_path: Path) -> None:
    """Its body, which the signature covers, was dropped when it was refused."""
    policy = tmp_path / "access.toml"
    policy.write_text(POLICY.replace('["lookup"]', '["broker"]'), "utf-8")
    limited = {"rocketns.accessFile": policy, "rocketns.reactors": 0, "rocketns.hostRequestsPerSecond": 1}
    server = TimedServer(tmp_path, limited)
    ext = signed(register_ext(body=BODY), BODY, key="k1", secret="a secret of the test")
    with server.connect() as client:
        answers = [client.request(codes.REGISTER_BROKER, ext, BODY).code for _ in range(20)]
    assert (answers[0], answers[-1]) == (codes.SUCCESS, codes.SYSTEM_BUSY)
    assert refused(server) == 0
    server.stop()
