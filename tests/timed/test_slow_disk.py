"""KV items and properties while the disk is slow, full or does not answer: control continues, answers wait."""

from __future__ import annotations

import json

import pytest

from interop.harness import codes
from interop.harness.wire import HAPPENS_WITHIN_S, Client, eventually
from rocketns import namesrv_controller
from tests.behaviour.calls import get_kv, put_kv, settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.support.slowdisk import SlowDisk
from tests.timed.conftest import TimedServerFactory

ONEWAY = 2


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    return SlowDisk(monkeypatch)


def post_put(client: Client, key: str, value: str = "v", flag: int = 0) -> None:
    client.post(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": key, "value": value}, flag=flag)


def stored(content: bytes) -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = json.loads(content)["configTable"]
    return tables


def test_a_put_is_answered_after_its_write_and_holds_nobody_up(
    timed_server: TimedServerFactory, disk: SlowDisk, names: Names
) -> None:
    """B094, B098: meanwhile a broker registers, and everyone sees the new value."""
    server = timed_server()
    with server.connect() as putter, server.connect() as other:
        post_put(putter, "k")
        disk.wait_for_write()
        registered(other, names)
        assert get_kv(other, "ns", "k").ext == {"value": "v"}
        putter.post(codes.GET_KV_CONFIG, {"namespace": "ns", "key": "k"})
        assert putter.receive().ext == {"value": "v"}, "its next request is answered before the put"
        disk.go_on()
        assert putter.receive().code == codes.SUCCESS
        assert stored((server.controller.core.context.kv_config.path).read_bytes()) == {"ns": {"k": "v"}}


def test_puts_that_come_during_a_write_are_written_together(timed_server: TimedServerFactory, disk: SlowDisk) -> None:
    """B105: two writes for 101 puts, and .bak is what the first wrote."""
    server = timed_server()
    with server.connect() as first, server.connect() as client:
        post_put(first, "first")
        disk.wait_for_write()
        for number in range(100):
            post_put(client, f"k{number}")
        eventually(lambda: server.controller.writer.unwritten == 101)
        disk.go_on(2)
        assert {client.receive().code for _ in range(100)} == {codes.SUCCESS}
    (_, one), (_, all_of_them) = disk.contents
    path = server.controller.core.context.kv_config.path
    assert stored(one) == {"ns": {"first": "v"}}
    assert len(stored(all_of_them)["ns"]) == 101
    assert (path.read_bytes(), path.with_name("kv.json.bak").read_bytes()) == (all_of_them, one)


def test_the_configuration_goes_through_the_same_writer(timed_server: TimedServerFactory, disk: SlowDisk) -> None:
    """B235: the change takes effect at once. It is answered when it is written, in the order of the requests."""
    with timed_server().connect() as client, timed_server().connect() as other:
        client.post(codes.UPDATE_NAMESRV_CONFIG, None, b"waitSecondsForService=7\n")
        disk.wait_for_write()
        assert settings(client)["waitSecondsForService"] == "7"
        post_put(client, "k")
        assert settings(client)["waitSecondsForService"] == "7", "the next answer, as the changes are not written yet"
        assert get_kv(other, "ns", "k").code == codes.QUERY_NOT_FOUND
        disk.go_on(2)
        assert (client.receive().code, client.receive().code) == (codes.SUCCESS, codes.SUCCESS)
    assert [name for name, _ in disk.contents] == ["timed.properties", "kv.json"]


def test_a_full_disk_is_answered_to_each_that_waits(timed_server: TimedServerFactory, disk: SlowDisk) -> None:
    """B094: the next write includes what could not be written."""
    server = timed_server()
    disk.is_full = True
    with server.connect() as client:
        post_put(client, "k0")
        disk.wait_for_write()
        for number in (1, 2):
            post_put(client, f"k{number}")
        eventually(lambda: server.controller.writer.unwritten == 3)
        disk.go_on(2)
        answers = [client.receive() for _ in range(3)]
        assert {answer.code for answer in answers} == {1}
        assert all("No space left on device" in (answer.remark or "") for answer in answers)
        disk.is_full = False
        disk.go_on()
        put_kv(client, "ns", "k3", "v")
    assert stored(disk.contents[-1][1]) == {"ns": {f"k{number}": "v" for number in range(4)}}


def test_the_stop_writes_accepted_changes(
    timed_server: TimedServerFactory, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B094, B246: the second put waits for the first one's write when the server is stopped. The disk is a real one:
    it may take longer than a stop does."""
    monkeypatch.setattr(namesrv_controller, "WRITE_WITHIN_S", HAPPENS_WITHIN_S / 2)
    server = timed_server()
    with server.connect() as client:
        for key in ("k", "l"):
            post_put(client, key)
        eventually(lambda: server.controller.writer.unwritten == 2)
        disk.go_on(2)
        server.stop()
    assert stored(disk.contents[-1][1]) == {"ns": {"k": "v", "l": "v"}}


def test_a_disk_that_does_not_answer_does_not_hold_up_the_end(
    timed_server: TimedServerFactory, disk: SlowDisk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B246: the server gives up, does not answer the put with success, and logs that."""
    monkeypatch.setattr(namesrv_controller, "WRITE_WITHIN_S", 0.01)
    server = timed_server()
    with server.connect() as client:
        post_put(client, "k")
        disk.wait_for_write()
        server.stop()  # the write still waits
        assert client.is_closed_by_server()
    assert "1 changes were not on disk" in caplog.text
    disk.go_on()


def test_changes_that_wait_for_the_disk_are_bounded_by_all_their_bytes(
    timed_server: TimedServerFactory, disk: SlowDisk
) -> None:
    """B094: one-way ones too. A long namespace is a part of a change, and a character may have four bytes. Beyond
    rocketns.kvBytesMax the answer is SYSTEM_BUSY, and nothing is changed."""
    long, size = "n" * 4_000, 40_000
    server = timed_server(**{"rocketns.kvBytesMax": size})
    with server.connect() as client:
        for value in ("v", "w", "😀" * 500):
            for number in range(20):
                put = {"namespace": long, "key": "k", "value": f"{value}{number}"}
                client.post(codes.PUT_KV_CONFIG, put, flag=ONEWAY)
        answer = client.request(codes.PUT_KV_CONFIG, {"namespace": long, "key": "more", "value": "v"})
        assert (answer.code, answer.remark) == (2, "[OVERLOAD]system busy, start flow control for a while")
        assert get_kv(client, long, "more").code == codes.QUERY_NOT_FOUND
        assert 1 <= server.controller.writer.unwritten <= 1 + size // len(long)
        disk.go_on(3)
        eventually(lambda: server.controller.writer.unwritten == 0)
        put_kv(client, long, "more", "v")
