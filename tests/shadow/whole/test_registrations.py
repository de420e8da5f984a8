"""A KV item that reaches one server before a registration, and the other one after it, is no difference."""

from __future__ import annotations

from pathlib import Path

from interop.harness import codes
from interop.harness.servers import RocketnsServer
from interop.harness.wire import Client, eventually
from tests.shadow.whole.shadows import Shadow, register

ITEM = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "broker-a:4"}


def put(client: Client) -> None:
    assert client.request(codes.PUT_KV_CONFIG, ITEM).code == 0


def test_it_is_settled_by_the_items_that_both_have_then(tmp_path: Path) -> None:
    upstream = RocketnsServer(tmp_path / "upstream")
    shadow = Shadow(tmp_path, upstream.port)
    eventually(lambda: not shadow.counts()["half"].startswith("knows"))
    with upstream.connect() as direct, shadow.connect() as client:
        put(direct)
        register(client)
        put(client)
        eventually(lambda: "settled" in str(shadow.counts()["requests"].get("REGISTER_BROKER")))
    assert shadow.stop() == 0
    upstream.kill()
