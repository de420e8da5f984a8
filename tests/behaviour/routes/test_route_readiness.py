"""needWaitForService: route requests are refused until the server has run for a while."""

from __future__ import annotations

from collections.abc import Callable

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import addrs, ask_route, route

LONG = {"needWaitForService": "true", "waitSecondsForService": "3600"}


def update(client: Client, text: bytes) -> None:
    assert client.request(codes.UPDATE_NAMESRV_CONFIG, None, text).code == 0


def test_routes_are_refused_and_all_else_served(start_server: Callable[..., NameServer], names: Names) -> None:
    """B205: 105 not ready, for a topic that is there and one that is not."""
    with start_server(LONG).connect() as client:
        registered(client, names)
        for topic in (names.topic("T"), "nope", None):
            answer = ask_route(client, topic)
            assert (answer.code, answer.remark) == (1, "name server not ready")
            assert (answer.ext, answer.body) == (None, None)
        assert addrs(client, names.broker) == {"0": names.addr()}


def test_routes_are_served_after_the_waiting_time(start_server: Callable[..., NameServer], names: Names) -> None:
    """B206: 105 after the waiting time. The time is read at every request, so lowering it ends the wait."""
    with start_server(LONG).connect() as client:
        registered(client, names)
        assert ask_route(client, names.topic("T")).code == 1
        update(client, b"waitSecondsForService=0\n")
        assert route(client, names.topic("T"))
        assert ask_route(client, "nope").code == codes.TOPIC_NOT_EXIST


def test_switch_is_asked_for_with_every_request(start_server: Callable[..., NameServer], names: Names) -> None:
    """B205: the switch can be changed while the server runs."""
    with start_server({"waitSecondsForService": "3600"}).connect() as client:
        registered(client, names)
        assert route(client, names.topic("T"))
        update(client, b"needWaitForService=true\n")
        assert ask_route(client, names.topic("T")).code == 1
        update(client, b"needWaitForService=false\n")
        assert route(client, names.topic("T"))
