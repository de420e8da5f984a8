"""Lookups without a route behind registrations that control has not applied, while the test blocks control."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.server.control import answering
from rocketns.server.reactors import handle
from tests.compiled.parts import deferred
from tests.fast.lookups import CLIENTS, look_up
from tests.support.live import LiveServer

OF_HOST_MAX = 16  # answers.pyx: DEFERRED_OF_HOST_MAX
NO_ROUTE = b'"code":17'


def registration(*topics: str) -> bytes:
    """A one-way registration, which is not answered."""
    body = register_body([topic_config(topic) for topic in topics])
    return frame(json_header(103, register_ext(body=body), flag=2), body)


def register_later(server: LiveServer, broker: Client, *topics: str) -> None:
    """Control is blocked: it gets the registration and does not apply it."""
    broker.send(registration(*topics))
    eventually(lambda: server.reactors.queued_bytes > 0, every_s=0.001)


def ask(client: Client, topic: str, opaque: int = 7) -> None:
    client.send(look_up(CLIENTS[0], topic, opaque))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute in place of 20 ms, so that a slow machine changes nothing."""
    for module in (handle, answering):
        monkeypatch.setattr(module, "DEFERRED_S_MAX", 60.0)


def test_a_lookup_waits_for_a_short_time_only(tmp_path: Path) -> None:
    with LiveServer(tmp_path, reactors=1) as server, ExitStack() as stack:
        broker, client = [stack.enter_context(server.connect()) for _ in range(2)]
        stack.enter_context(server.held_still())
        register_later(server, broker, "new", "other")
        ask(client, "new")
        assert NO_ROUTE in client.receive_frame()


@pytest.mark.usefixtures("patient")
def test_a_lookup_that_finds_its_topic_does_not_wait(tmp_path: Path) -> None:
    """Not even behind one that waits, on the same connection."""
    with LiveServer(tmp_path, reactors=1) as server, server.connect() as broker, server.connect() as client:
        broker.send(registration("old", "other"))
        eventually(lambda: "old" in server.controller.core.context.tables.topic_queue_table)
        server.settle()
        with server.held_still():
            register_later(server, broker, "new", "other")
            ask(client, "new", 1)
            ask(client, "old", 2)
            assert b'"opaque":2' in client.receive_frame()
        assert b'"opaque":1' in client.receive_frame()


@pytest.mark.usefixtures("patient")
def test_a_flood_of_unknown_topics_is_answered_at_once(tmp_path: Path) -> None:
    with LiveServer(tmp_path, reactors=1) as server, server.connect() as broker, server.connect() as client:
        with server.held_still():
            register_later(server, broker, "new", "other")
            client.send(b"".join(look_up(CLIENTS[0], "unknown", number) for number in range(3 * OF_HOST_MAX)))
            answers = [client.receive_frame() for _ in range(2 * OF_HOST_MAX)]
            assert all(NO_ROUTE in answer for answer in answers)
            assert deferred(server.reactors) == OF_HOST_MAX
        answers = [client.receive_frame() for _ in range(OF_HOST_MAX)]
        assert all(NO_ROUTE in answer for answer in answers)


@pytest.mark.usefixtures("patient")
def test_a_lookup_waits_for_a_registration_before_it_unless_its_connection_ends(tmp_path: Path) -> None:
    with LiveServer(tmp_path, reactors=1) as server, server.connect() as broker, server.connect() as client:
        with server.held_still():
            register_later(server, broker, "new", "other")
            with server.connect() as gone:
                ask(gone, "new")
                eventually(lambda: deferred(server.reactors) == 1, every_s=0.001)
            ask(client, "new")
            eventually(lambda: deferred(server.reactors) == 2, every_s=0.001)
        assert client.receive_frame() == server.reference(look_up(CLIENTS[0], "new"))
        eventually(lambda: deferred(server.reactors) == 0, every_s=0.001)


@pytest.mark.usefixtures("patient")
def test_a_lookup_that_control_answers_waits_as_well(tmp_path: Path) -> None:
    """It follows another request of its connection. Control serves it before the registration, which is larger."""
    topics = [f"topic-{number}" for number in range(3_000)]
    with LiveServer(tmp_path, reactors=1) as server, server.connect() as broker, server.connect() as client:
        with server.held_still():
            register_later(server, broker, *topics)
            requests = frame(json_header(206, opaque=1)) + look_up(CLIENTS[0], "topic-0", 2)
            both = server.reactors.queued_bytes + len(requests)
            client.send(requests)
            eventually(lambda: server.reactors.queued_bytes > both, every_s=0.001)
        assert b'"opaque":1' in client.receive_frame()
        assert client.receive_frame() == server.reference(look_up(CLIENTS[0], "topic-0", 2))


@pytest.mark.usefixtures("patient")
def test_a_server_ends_while_lookups_wait(tmp_path: Path) -> None:
    server = LiveServer(tmp_path, reactors=1)
    with server.connect() as broker, server.connect() as client:
        with server.held_still():
            register_later(server, broker, "new", "other")
            ask(client, "new")
            eventually(lambda: deferred(server.reactors) == 1, every_s=0.001)
            server.loop.call_soon_threadsafe(server.controller.core.control.stop)  # nothing is applied any more
        server.stop()
        assert client.is_closed_by_server()
