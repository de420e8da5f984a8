"""Whom the attacked server's policy names may do what it says: it does not stop attacks by refusing everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.hostile.attacks.playing import start
from tests.hostile.attacks.policy import BOUND_BROKER, FLEET, OTHER_BROKER, STRANGER, UNKNOWN
from tests.hostile.attacks.signed import signed
from tests.support.certificates import Files
from tests.support.tlsclient import TlsClient, any_server

LOOKUP, WIPE = codes.GET_ROUTEINFO_BY_TOPIC, codes.WIPE_WRITE_PERM_OF_BROKER
NO_TOPIC = {"topic": "none"}
NO_BROKER = {"brokerName": "none"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("enforce")


@pytest.fixture(scope="module")
def enforcing(server_class: type[NameServer], folder: Path) -> Iterator[NameServer]:
    server = start(server_class, folder, "enforce")
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("source", "code", "ext", "answer"),
    [
        (STRANGER, LOOKUP, NO_TOPIC, codes.TOPIC_NOT_EXIST),
        (OTHER_BROKER, LOOKUP, NO_TOPIC, codes.TOPIC_NOT_EXIST),
        (FLEET, WIPE, NO_BROKER, codes.SUCCESS),
        (FLEET, codes.GET_NAMESRV_CONFIG, None, codes.SUCCESS),
        (UNKNOWN, WIPE, signed("alone", NO_BROKER), codes.SUCCESS),
        (UNKNOWN, LOOKUP, signed("looker", NO_TOPIC), codes.TOPIC_NOT_EXIST),
        (FLEET, WIPE, signed("here", NO_BROKER), codes.SUCCESS),
    ],
)
def test_who_has_the_right_is_answered(
    enforcing: NameServer, source: str, code: int, ext: dict[str, str] | None, answer: int
) -> None:
    with Client(enforcing.port, source=source) as client:
        assert client.request(code, ext).code == answer


def test_a_key_with_its_certificate_is_enough(enforcing: NameServer, folder: Path) -> None:
    known = any_server(Files(folder, folder / "client" / "certificate.pem", folder / "client" / "key.pem"))
    with TlsClient(enforcing.port, source=UNKNOWN, context=known) as client:
        assert client.request(WIPE, signed("shown", NO_BROKER)).code == codes.SUCCESS


@pytest.mark.parametrize(
    ("source", "broker", "answer"),
    [
        (OTHER_BROKER, "any", codes.SUCCESS),
        (BOUND_BROKER, "own-1", codes.SUCCESS),
        (BOUND_BROKER, "other-1", codes.NO_PERMISSION),
        (STRANGER, "own-1", codes.NO_PERMISSION),
    ],
)
def test_who_may_register_a_broker(enforcing: NameServer, source: str, broker: str, answer: int) -> None:
    body = register_body([topic_config("T"), topic_config("U")])
    with Client(enforcing.port, source=source) as client:
        # Each at its own address: one that a broker of another name just left may still be that one's.
        ext = register_ext(broker=broker, addr=f"{source}:10911", body=body)
        assert client.request(codes.REGISTER_BROKER, ext, body).code == answer
