"""What an operator relies on: answers compared, served and passed again, whichever process dies."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from interop.harness import codes
from interop.harness.process import Process
from interop.harness.servers import JavaNameServer, NameServer
from interop.harness.wire import eventually
from tests.shadow.whole.shadows import READY, Shadow, register, routed


@pytest.fixture
def shadow(tmp_path: Path, upstream: NameServer) -> Iterator[Shadow]:
    started = Shadow(tmp_path, upstream.port)
    yield started
    started.process.kill()


def test_answers_of_both_are_compared_and_the_end_says_that_none_differs(shadow: Shadow) -> None:
    with shadow.connect() as client:
        register(client)
        assert routed(client)
        assert not routed(client, "unknown")
        eventually(lambda: shadow.relay("equal") == 3)
    assert shadow.stop() == 0
    assert "0 different of 3 answers" in shadow.process.text()


def test_a_planted_difference_is_found_and_the_exit_status_says_so(shadow: Shadow, upstream: NameServer) -> None:
    with upstream.connect() as direct, shadow.connect() as client:
        register(direct)
        eventually(lambda: not shadow.counts()["half"].startswith("knows"))
        assert routed(client)
        eventually(lambda: shadow.counts()["unwanted"] == 1)
    assert shadow.stop() == 1


def test_a_client_is_served_and_passed_again_on_one_connection(shadow: Shadow, upstream: NameServer) -> None:
    with upstream.connect() as direct, shadow.connect() as client:
        register(client)
        register(direct, broker="broker-b", addr="127.0.0.1:20911")
        has_b = lambda: b"broker-b" in (client.request(codes.GET_BROKER_CLUSTER_INFO).body or b"")  # noqa: E731
        assert has_b()
        shadow.serve()
        assert not has_b()
        shadow.process.signal(signal.SIGUSR2)
        eventually(has_b)


def test_a_killed_half_is_not_noticed_by_a_client_and_starts_again(shadow: Shadow) -> None:
    with shadow.connect() as client:
        register(client)
        shadow.serve()
        assert routed(client)
        shadow.child("half").kill()
        assert routed(client)
        register(client)
        eventually(lambda: shadow.process.text().count("listens at 127.0.0.1") >= 3)
        eventually(lambda: routed(client) and shadow.relay("reopened") > 0)
        register(client)
        eventually(lambda: shadow.relay("served_percent_now") == 100)
        assert routed(client)


def test_a_killed_judge_is_not_noticed_and_starts_again(shadow: Shadow) -> None:
    first = shadow.child("judge")
    first.kill()
    with shadow.connect() as client:
        register(client)
        assert routed(client)
    eventually(lambda: "judge ended" in shadow.process.text())
    eventually(lambda: len(psutil.Process(shadow.process.pid).children()) == 2)


def test_no_process_is_left_of_a_killed_shadow(shadow: Shadow) -> None:
    children = psutil.Process(shadow.process.pid).children(recursive=True)
    shadow.process.kill()
    _, left = psutil.wait_procs(children, 30)
    assert not left


def test_clients_stay_and_are_served_when_the_upstream_is_removed(shadow: Shadow, upstream: NameServer) -> None:
    with shadow.connect() as client:
        register(client)
        shadow.serve()
        upstream.kill()
        assert routed(client)
        with shadow.connect() as other:
            assert routed(other)
        assert routed(client)


def test_the_half_has_the_upstream_s_order_configuration_and_properties(tmp_path: Path, upstream: NameServer) -> None:
    with upstream.connect() as direct:
        ext = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "broker-a:4"}
        assert direct.request(codes.PUT_KV_CONFIG, ext).code == 0
        assert direct.request(codes.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true").code == 0
    shadow = Shadow(tmp_path, upstream.port)
    with shadow.connect() as client:
        register(client)
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T1"})
        assert b"broker-a:4" in (answer.body or b"")
        eventually(lambda: shadow.relay("equal") == 2)
    shadow.process.kill()


@pytest.mark.java
def test_a_java_name_server_and_the_half_say_the_same(tmp_path: Path) -> None:
    upstream = JavaNameServer(tmp_path / "upstream")
    shadow = Shadow(tmp_path, upstream.port)
    with shadow.connect() as client:
        register(client)
        for topic in ("T0", "T1", "unknown"):
            routed(client, topic)
        client.request(codes.GET_BROKER_CLUSTER_INFO)
        client.request(codes.GET_NAMESRV_CONFIG)
        shadow.serve()
        for topic in ("T0", "T1", "unknown"):
            routed(client, topic)
        eventually(lambda: shadow.counts()["judged"] == 9)
        assert shadow.counts()["unwanted"] == 0, shadow.counts()
        upstream.kill()
        assert routed(client)
    shadow.process.kill()


def test_the_ready_line_names_the_half(shadow: Shadow) -> None:
    assert int(shadow.process.wait_for(READY)[1]) == shadow.child("half").pid


def test_a_status_port_that_is_in_use_is_said_and_ends_the_start(tmp_path: Path, upstream: NameServer) -> None:
    process = Process(
        [sys.executable, "-m", "rocketns", "shadow", "--upstream", f"127.0.0.1:{upstream.port}", "-p", "0",
         "--bind", "127.0.0.1", "--status", f"127.0.0.1:{upstream.port}"],
        tmp_path / "refused.log",
    )  # fmt: skip
    try:
        assert process.wait(30) == 2
    finally:
        process.kill()
    assert f"the status port 127.0.0.1:{upstream.port}: " in process.text()
