"""At stop, the server logs how many registrations it did not decode."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness.payloads import data_version, dumps, topic_config
from interop.harness.servers import NameServer
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register_with

NOW_MS = 1_795_254_380_051


def body(stamp: int, counter: int) -> bytes:
    wrapper = {
        "dataVersion": data_version(counter),
        "mappingDataVersion": data_version(0, stamp),
        "topicConfigTable": {"T": topic_config("T"), "U": topic_config("U")},
    }
    return dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})


def test_registrations_that_differ_in_their_time_alone_are_counted_as_repeated(
    server_class: type[NameServer], names: Names, tmp_path: Path
) -> None:
    """B147: a 5.x broker writes the current time into each registration."""
    if server_class.kind == "java":
        pytest.skip("the Java server does not count registrations")
    server = server_class(tmp_path)
    with server.connect() as client:
        for period, counter in enumerate((1, 1, 1, 2, 2)):
            assert register_with(client, names, body(NOW_MS + 30_000 * period, counter)).code == 0
    assert server.stop() == 0
    assert "registrations: 5, 3 of them repeated the broker's last body" in server.process.text()
