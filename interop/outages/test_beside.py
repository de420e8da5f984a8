"""rocketns beside the Java name server of a running fleet, known to brokers only: the trial in README.md."""

from __future__ import annotations

import subprocess
import sys

from interop.harness import views
from interop.harness.rocketmq.admin import Admin
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.clients import stop_and_check
from interop.harness.sending.fleet import Fleet, name_server_list
from interop.harness.wire import eventually

TOPIC = "Tried"
MESSAGES_BETWEEN = 100
# A broker reads its list again 10 s after its start and then every two minutes; here every second.
READS_LIST_EACH_S = {"updateNameServerAddrPeriod": 1_000}


def diff(*servers: str) -> int:
    """The exit status of `rocketns diff`: 0 where all name servers have the same."""
    command = [sys.executable, "-m", "rocketns", "diff", *servers]
    return subprocess.run(command, stdout=subprocess.DEVNULL, timeout=120, check=False).returncode


def tell(admin: Admin, broker: Broker, name_servers: str) -> None:
    words = ("-b", broker.address, "-k", "namesrvAddr", "-v", name_servers)
    admin.run("updateBrokerConfig", *words).prints("update broker config success")


def test_brokers_register_with_it_and_clients_never_see_it(fleet: Fleet) -> None:
    java, ours = fleet.java(), fleet.name_server()
    admin = fleet.admin(java)
    broker = fleet.broker("broker-a", java, properties=READS_LIST_EACH_S)
    producer = fleet.producer([java], TOPIC, 1_000_000, pause_ms=20)
    consumer = fleet.consumer([java], TOPIC, "readers")
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    tell(admin, broker, name_server_list(java, ours))
    eventually(lambda: TOPIC in views.routes(ours), 240.0)
    assert diff(name_server_list(java), name_server_list(ours)) == 0
    ours.kill()  # the worst that a trial can do
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    tell(admin, broker, name_server_list(java))
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    stop_and_check(producer, consumer)
