"""Two name servers; one of them dies while messages flow."""

from __future__ import annotations

from interop.harness import views
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import stop_and_check
from interop.harness.wire import eventually

TOPIC = "Steady"
PAUSE_MS = 20
MESSAGES_BETWEEN = 100
# Against hangs: a broker registers with a name server that is back at its next period.
RESTORED_WITHIN_S = 240.0


def test_no_message_is_lost_when_each_name_server_dies_once(fleet: Fleet) -> None:
    """B250: each client holds a connection to one of the two; killing both in turn takes it from every client once."""
    servers = [fleet.name_server(), fleet.name_server()]
    fleet.broker("broker-a", *servers)
    producer = fleet.producer(servers, TOPIC, 1_000_000, pause_ms=PAUSE_MS)
    consumer = fleet.consumer(servers, TOPIC, "readers")
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)

    for lost, kept in (servers, servers[::-1]):
        lost.kill()
        consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
        # Given the living one only: a 5.5.0 client fails to start if it happens to try a dead one first.
        late = fleet.consumer([kept], TOPIC, f"readers-without-{lost.port}")
        late.wait_for("GOT", MESSAGES_BETWEEN)
        late.kill()
        lost.start()
        routes = views.routes(kept)
        assert TOPIC in routes
        eventually(lambda lost=lost, routes=routes: views.routes(lost) == routes, RESTORED_WITHIN_S)

    stop_and_check(producer, consumer)
