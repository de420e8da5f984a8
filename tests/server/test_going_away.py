"""A server that stops gracefully lets brokers leave without alarming the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from tests.soak.live import LiveServer

SERVED = 475  # peers up to this version are served until the end


@pytest.mark.parametrize(("goes", "told"), [(False, ["10.0.0.2:1"]), (True, [])], ids=["serving", "going away"])
def test_a_server_that_goes_away_notifies_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes: bool, told: list[str]
) -> None:
    """B080: no 905 for a lowest broker id that left during the shutdown; before it, there is one."""
    with LiveServer(tmp_path, notifyMinBrokerIdChanged="true") as server, server.connect() as client:
        receivers: list[str] = []
        controller = server.controller
        for broker_id, addr in enumerate(("10.0.0.1:1", "10.0.0.2:1")):
            body = register_body([topic_config("T"), topic_config("U")])
            ext = register_ext(addr=addr, broker_id=broker_id, body=body, enableActingMaster="true")
            assert client.request(103, ext, body, version=SERVED).code == 0
        monkeypatch.setattr(controller.client, "invoke_oneway", lambda addr, *_: receivers.append(addr))
        monkeypatch.setattr(controller.core.context, "going_away", goes)
        who = {"clusterName": "C1", "brokerName": "broker-a", "brokerAddr": "10.0.0.1:1", "brokerId": "0"}
        assert client.request(104, who, version=SERVED).code == 0
        client.request(206, version=SERVED)
        assert receivers == told
