"""The Go client."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.conftest import name_server_list
from interop.harness import views
from interop.harness.brokers import Broker
from interop.harness.builds import built
from interop.harness.flow import assert_each_arrives_once
from interop.harness.programs import Start
from interop.harness.servers import NameServer

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="not found on the PATH: go")
MESSAGES = 200
TOPIC = "FromGo"


def build() -> Path:
    """The folder with the program ``client``."""
    return built("go", ["go", "build", "-o", "client", "."])


@pytest.mark.client(
    language="Go",
    client="`github.com/apache/rocketmq-client-go/v2`",
    version="2.1.2",
    shows="ordinary messages, producer and push consumer",
)
def test_go_client_sends_and_receives(
    start_name_server: Callable[..., NameServer], start_broker: Callable[..., Broker], run_client: Start
) -> None:
    """B109, B199: it says version 317 (older than 4.9.4) and gets the answer with unquoted keys."""
    server = start_name_server()
    broker = start_broker("broker-a", server)
    program = str(build() / "client")
    producer = run_client("produce", [program, "produce", name_server_list(server), TOPIC, str(MESSAGES)])
    producer.wait_for("DONE")
    assert views.addresses(server, TOPIC) == {"broker-a": {0: broker.address}}
    consumer = run_client("consume", [program, "consume", name_server_list(server), TOPIC, "go-readers"])
    assert_each_arrives_once(producer, consumer, MESSAGES)
