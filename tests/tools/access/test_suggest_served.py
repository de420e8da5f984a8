"""The way there: observe without a principal, suggest from the journal, enforce; the same peer is served then."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import Client
from tests.access.signing import KEY, SECRET, signed
from tests.tools.access.conftest import Run

OBSERVE = "[modes]\nlookup = 'observe'\nread = 'observe'\nbroker = 'observe'\nadmin = 'observe'\n"
NO_PERMISSION = 16


def asked(server: NameServer) -> list[int]:
    """The answers' codes: a broker at 127.0.0.3, a client at .4, a tool that signs at .5, and its wipe."""
    body = register_body([topic_config("T"), topic_config("U")])  # Java takes no single topic of a new broker
    answers = []
    with Client(server.port, source="127.0.0.3") as broker:
        answers.append(broker.request(103, register_ext(broker="b[1]", body=body), body).code)
        with Client(server.port, source="127.0.0.4") as client, Client(server.port, source="127.0.0.5") as tool:
            answers.append(client.request(105, {"topic": "T"}).code)
            answers.append(tool.request(106, signed({})).code)
            answers.append(tool.request(205, signed({"brokerName": "b[1]"})).code)
    return answers


def test_what_was_observed_is_served_when_it_is_enforced(access: Run, tmp_path: Path) -> None:
    file = tmp_path / "access.toml"
    properties = {"rocketns.accessFile": file, "journalPath": tmp_path / "journal", "journalNs": "a"}
    file.write_text(OBSERVE, "utf-8")
    observing = RocketnsServer(tmp_path / "ns", properties)
    assert asked(observing) == [0, 0, 0, 0]
    observing.stop()
    status, text, _ = access("suggest", "--journal", str(tmp_path / "journal"))
    assert status == 0
    file.write_text(text.replace("observe", "enforce").replace("<fill in>", SECRET), "utf-8")
    enforcing = RocketnsServer(tmp_path / "ns2", properties | {"journalNs": "b"})
    try:
        assert asked(enforcing) == [0, 0, 0, NO_PERMISSION]
        with Client(enforcing.port, source="127.0.0.4") as client:
            assert client.request(206).code == NO_PERMISSION
        with Client(enforcing.port, source="127.0.0.6") as stranger, pytest.raises(ConnectionError):
            stranger.request(105, {"topic": "T"})
    finally:
        enforcing.stop()
    for words, expected in ((("code=105", "from=127.0.0.4"), 0), (("code=205", "from=127.0.0.5", f"key={KEY}"), 1)):
        assert access("check", str(file), *words)[0] == expected
