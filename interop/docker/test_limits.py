"""What Docker's limits of memory and processor time do to a name server with a large fleet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from interop.docker.containers import Container
from interop.docker.deployments.announcing import announce
from interop.harness import codes
from tests.behaviour import views

BROKERS, TOPICS = 10, 10_000
MEMORY_MB = 64
LOOKUPS = 2_000
LOOKUPS_WITHIN_S = 180.0


def register_the_fleet(container: Container, stack: contextlib.ExitStack) -> None:
    """Each broker has all topics, and its connection stays open."""
    topics = [f"topic-{n}" for n in range(TOPICS)]
    for number in range(BROKERS):
        client = stack.enter_context(container.connect())
        client.socket.settimeout(LOOKUPS_WITHIN_S)
        announce(client, f"broker-{number}", topics, address=f"10.0.0.{number}:10911")


def test_fleet_fits_into_64_mb_and_half_a_core_answers_all_lookups(
    start: Callable[..., Container], record_property: Callable[[str, object], None]
) -> None:
    """Twice: what brokers send again must not add up either."""
    container = start(options=(f"--memory={MEMORY_MB}m", f"--memory-swap={MEMORY_MB}m", "--cpus=0.5"))
    with contextlib.ExitStack() as stack:
        register_the_fleet(container, stack)
        register_the_fleet(container, stack)
        client = stack.enter_context(container.connect())
        began = time.monotonic()
        for number in range(LOOKUPS):
            assert len(views.route(client, f"topic-{number}")["brokerDatas"]) == BROKERS
        assert time.monotonic() - began < LOOKUPS_WITHIN_S
        assert len(views.topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)) >= TOPICS
    state = container.state()
    assert state["Running"]
    assert not state["OOMKilled"]
    resident = container.execute("sh", "-c", "grep VmHWM /proc/1/status").split()[1]
    record_property(
        "print docker", f"{BROKERS} brokers of {TOPICS} topics: at most {int(resident) / 1024:.0f} MB resident"
    )
