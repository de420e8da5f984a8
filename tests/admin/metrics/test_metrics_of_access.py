"""What a scrape shows about the access policy: lookups that it lets pass, and connections that it closes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interop.harness.wire import eventually
from tests.admin.conftest import Managed
from tests.fast.access.signed import signed
from tests.fast.clients import CLIENTS, look_up
from tests.fast.reactor.test_moving import reactors_of, settle, transport_of
from tests.support.proxyheaders import v1

pytestmark = pytest.mark.usefixtures("no_old_numbers")


def test_lookups_that_a_policy_lets_pass_are_counted_by_the_reason(managed: Managed) -> None:
    """A signed one after control allowed it, and two after control observed the first unsigned one."""
    reactors = reactors_of(managed)
    managed.call(lambda: reactors.set_access(True, False, []))
    managed.call(lambda: reactors.remember_allowed(signed("T")))
    with managed.connect() as client:
        client.send(signed("T"))
        client.receive_frame()
        settle(managed)
        managed.call(lambda: [one.allow_lookups() for one in transport_of(managed).connections])
        for _ in range(3):
            client.send(look_up(CLIENTS[0]))
            client.receive_frame()
    seen = managed.scrape()
    assert seen("rocketns_lookups_allowed_total", why="signature") == 1
    assert seen("rocketns_lookups_allowed_total", why="observed") == 2


def test_strangers_are_counted_when_they_connect_and_when_they_send(managed: Managed) -> None:
    with managed.connect() as client:
        client.send(look_up(CLIENTS[0]))
        client.receive_frame()
        managed.call(lambda: reactors_of(managed).set_access(False, True, []))
        client.send(look_up(CLIENTS[0]))
        assert client.is_closed_by_server()
    with managed.connect() as stranger:
        assert stranger.is_closed_by_server()
    eventually(lambda: managed.scrape()("rocketns_connections_closed_total", reason="stranger") == 2)


def test_untrusted_proxies_are_counted(start_managed: Callable[..., Managed]) -> None:
    managed = start_managed({"rocketns.trustedProxies": "10.0.0.0/8"})
    with managed.connect() as client:
        client.send(v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443))
        assert client.is_closed_by_server()
    eventually(lambda: managed.scrape()("rocketns_connections_closed_total", reason="untrusted_proxy") == 1)
