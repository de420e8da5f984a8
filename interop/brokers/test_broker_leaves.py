"""The three ways in which a broker leaves, and how soon the name server removes it."""

from __future__ import annotations

import time

from interop.harness import views
from interop.harness.rocketmq.brokers import REGISTRATION_PERIOD_S
from interop.harness.sending.fleet import Fleet
from interop.harness.wire import eventually

# Only a broker with acting master on tells its timeout (the others get 120 s), and it beats once a second.
TIMEOUT_S, BEAT_S, SCAN_S = 5.0, 1.0, 0.5
QUICK_EXPIRY = {
    "enableSlaveActingMaster": "true",
    "brokerHeartbeatInterval": int(BEAT_S * 1000),
    "brokerNotActiveTimeoutMillis": int(TIMEOUT_S * 1000),
}
# Far below the 120 s after which these brokers would expire, and far above any delay of the machine.
AT_ONCE_S = 60.0


def test_stopped_broker_is_gone_while_it_still_shuts_down(fleet: Fleet) -> None:
    """B179: the broker unregisters first and then takes seconds to stop."""
    server = fleet.name_server()
    broker = fleet.broker("broker-a", server)
    assert views.routes(server)

    broker.ask_to_stop()
    eventually(lambda: not views.brokers(server), AT_ONCE_S)
    assert server.port in broker.connected_ports(), "the close of its connection removed it, not the unregistration"
    assert not views.routes(server)
    eventually(lambda: "unregisterBroker OK" in broker.log(), AT_ONCE_S)


def test_killed_broker_is_gone_when_its_connection_closes(fleet: Fleet) -> None:
    """B187: nothing is sent, the closed connection is enough; the other broker stays."""
    server = fleet.name_server()
    killed, other = fleet.broker("broker-a", server), fleet.broker("broker-b", server)

    killed.kill()
    eventually(lambda: views.brokers(server) == {"broker-b": {0: other.address}}, AT_ONCE_S)
    assert {q["brokerName"] for r in views.routes(server).values() for q in r["queueDatas"]} == {"broker-b"}


def test_frozen_broker_expires_and_returns_when_it_thaws(fleet: Fleet) -> None:
    """B190: its connection stays open, only the heartbeats stop."""
    server = fleet.name_server({"scanNotActiveBrokerInterval": int(SCAN_S * 1000)})
    broker = fleet.broker("broker-a", server, properties=QUICK_EXPIRY)

    broker.freeze()
    frozen_at = time.monotonic()
    eventually(lambda: not views.brokers(server), TIMEOUT_S + AT_ONCE_S)
    # The last beat came at most one interval, and any delay of the machine, before the freeze.
    assert time.monotonic() - frozen_at > TIMEOUT_S - 4 * BEAT_S
    assert not views.routes(server)
    assert broker.is_running()

    broker.thaw()
    eventually(lambda: views.brokers(server) == {"broker-a": {0: broker.address}}, REGISTRATION_PERIOD_S + AT_ONCE_S)
