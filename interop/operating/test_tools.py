"""The commands against a Java name server, and against Java's and rocketns together."""

from __future__ import annotations

import json

import pytest

from interop.harness import codes
from interop.harness.sending.fleet import Fleet
from rocketns.__main__ import main
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered

BROKERS, TOPICS = 5, 40


def test_java_and_rocketns_are_compared_and_read_alike(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """Their lists have different orders. Each part of a route that differs is found."""
    both = [fleet.java(), fleet.name_server()]
    addrs = [f"127.0.0.1:{server.port}" for server in both]
    clients, names = [server.connect() for server in both], [Names() for _ in range(BROKERS)]
    topics = [f"T{one}" for one in range(TOPICS)]
    for client in clients:
        for number, one in enumerate(names):
            registered(client, one, topics, filters=["f:1"][number:], __ZONE_NAME="z")
            registered(client, one, topics, host=2, broker_id=1)
    assert difference(addrs, capsys) == (0, [])
    for words in (["brokers"], ["topics"], ["route", names[0].topic("T1")], ["kv"]):
        shown = [printed(capsys, "get", *words, "--json", "-n", addr) for addr in addrs]
        assert shown[0] == shown[1], words

    clients[0].request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": names[1].topic("T2")})
    clients[0].request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": names[2].broker})
    registered(clients[1], names[3], topics, host=3, broker_id=2)
    found = {("broker", names[3].broker), ("topic", names[1].topic("T2"))}
    found |= {("topic", names[2].topic(one)) for one in topics}
    status, differing = difference(addrs, capsys)
    assert (status, {(one["kind"], one["name"]) for one in differing}) == (1, found)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(words)
    return capsys.readouterr().out


def difference(addrs: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, str]]]:
    status = main(["diff", *addrs, "--settle", "1", "--json"])
    return status, json.loads(capsys.readouterr().out)["differences"]
