"""needWaitForService: lookups are refused until waitSecondsForService has passed."""

from __future__ import annotations

from interop.harness import codes
from tests.behaviour.calls import switch
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route, cluster_info, route
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, pass_time


def test_routes_are_refused_until_the_time_has_passed(timed_server: TimedServerFactory, names: Names) -> None:
    """B205, B206: 105 is refused for 45 s, to the millisecond. All other requests are answered from the start."""
    server = timed_server(needWaitForService="true")
    with server.connect() as client:
        registered(client, names)
        pass_time(server, 45 * SECOND - 1)
        answer = ask_route(client, names.topic("T"))
        assert (answer.code, answer.remark, answer.body) == (1, "name server not ready", None)
        assert names.broker in cluster_info(client)["brokerAddrTable"]
        server.advance(1)
        assert route(client, names.topic("T"))
        assert ask_route(client, "none").code == codes.TOPIC_NOT_EXIST


def test_the_waiting_time_is_a_property(timed_server: TimedServerFactory, names: Names) -> None:
    """B206: waitSecondsForService, in seconds from the start of the server."""
    server = timed_server(needWaitForService="true", waitSecondsForService=3)
    with server.connect() as client:
        registered(client, names)
        pass_time(server, 3 * SECOND - 1)
        assert ask_route(client, names.topic("T")).code == 1
        server.advance(1)
        assert route(client, names.topic("T"))


def test_a_longer_waiting_time_counts_from_the_start_too(timed_server: TimedServerFactory) -> None:
    """B206: both switches are read at every request, so raising the time makes a ready server wait again."""
    server = timed_server(needWaitForService="true", waitSecondsForService=3)
    with server.connect() as client:
        pass_time(server, 10 * SECOND)
        assert ask_route(client, "none").code == codes.TOPIC_NOT_EXIST
        switch(client, "waitSecondsForService", 12)
        assert ask_route(client, "none").code == codes.SYSTEM_ERROR
        pass_time(server, 2 * SECOND)
        assert ask_route(client, "none").code == codes.TOPIC_NOT_EXIST
