"""Name servers that are stopped for longer than a broker's heartbeat time-out, while the broker goes on."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack

from interop.brokers.test_brokers import QUICK_EXPIRY
from interop.harness import views
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from tests.behaviour.views import perms

TOPIC = "Steady"
SCAN = {"scanNotActiveBrokerInterval": 500}
# Brokers that have the machine for themselves send a heartbeat each second.
TIMEOUT_S = 10.0
ACTING = QUICK_EXPIRY | {"brokerNotActiveTimeoutMillis": int(TIMEOUT_S * 1000)}
STOPPED_S = 1.5 * TIMEOUT_S
# Longer than the time-out: what the servers expire because of the stop, they expire in this time.
WATCHED_S = TIMEOUT_S + 2.0
# A broker that was expired is missing until it registers again, for seconds.
LOOK_EVERY_S = 0.02


def lost(servers: Sequence[NameServer], brokers: set[str]) -> dict[str, set[str]]:
    """The brokers that were missing from the topic's route at any time since the servers go on, by kind of server."""
    missing: dict[str, set[str]] = {one.kind: set() for one in servers}
    ends = time.monotonic() + WATCHED_S
    with ExitStack() as stack:
        clients = {one.kind: stack.enter_context(one.connect()) for one in servers}
        while time.monotonic() < ends:
            for kind, client in clients.items():
                missing[kind] |= brokers - set(perms(client, TOPIC))
            time.sleep(LOOK_EVERY_S)
    return missing


def test_a_stop_loses_no_route_but_all_of_the_java_name_server(fleet: Fleet) -> None:
    """Both are stopped and go on at the same times, with the same brokers.

    The brokers' requests to a stopped name server time out, and then the brokers close their connections.
    """
    both = (fleet.name_server(SCAN), fleet.java(SCAN))
    brokers = {name: fleet.broker(name, *both, properties=ACTING, topics=[TOPIC]) for name in ("broker-a", "broker-b")}
    everything = {name: {0: broker.address} for name, broker in brokers.items()}
    assert [views.addresses(one, TOPIC) for one in both] == [everything, everything]

    for one in both:
        one.process.signal(signal.SIGSTOP)
    time.sleep(STOPPED_S)
    for one in both:
        one.process.signal(signal.SIGCONT)

    found = lost(both, set(everything))
    print(f"lost of {len(everything)} brokers after {STOPPED_S:.0f} s: {found}")
    assert found["rocketns"] == set()
    # All of them, unless a heartbeat that waited in its socket is read before Java's scan begins.
    assert found["java"]
