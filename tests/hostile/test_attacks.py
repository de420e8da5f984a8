"""Each known attack to rocketns: what docs/security.md says happens, and `enforce` stops it but not its principals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import JavaNameServer, NameServer
from interop.harness.wire import Client
from tests.hostile.attacks.__main__ import play, read_table, start
from tests.hostile.attacks.judging import (
    BOUND_BROKER,
    FLEET,
    OTHER_BROKER,
    STRANGER,
    SUCCEEDS,
    UNKNOWN,
    Row,
    signed,
    verdict,
)
from tests.hostile.attacks.table import JAVA, ROWS
from tests.hostile.conftest import assert_nothing_unforeseen
from tests.support.certificates import Files
from tests.support.tlsclient import TlsClient, any_server

MODE = "enforce"
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row.name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(MODE)


@pytest.fixture(scope="module")
def attacked(server_class: type[NameServer], folder: Path) -> Iterator[NameServer]:
    """A server for all attacks. None of them may have caused an unexpected error."""
    server = start(server_class, folder, MODE)
    yield server
    assert server.stop() == 0
    assert_nothing_unforeseen(server)


@each_row
@pytest.mark.usefixtures("open_files_max")
def test_what_happens_is_what_the_page_says(attacked: NameServer, row: Row, tmp_path: Path) -> None:
    """`python -m tests.hostile.attacks --kept` writes the page again."""
    happens = verdict(play(row, attacked, tmp_path))
    assert happens == verdict(read_table()[row.name][MODE])
    if row.is_stopped is not None:
        assert (happens != SUCCEEDS) is row.is_stopped


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    server = start(JavaNameServer, tmp_path_factory.mktemp("java"), JAVA)
    yield server
    server.stop()


@pytest.mark.needs("java", "mvn")
@pytest.mark.slow
@each_row
@pytest.mark.usefixtures("open_files_max")
def test_what_happens_to_java_is_what_the_page_says(java: NameServer, row: Row, tmp_path: Path) -> None:
    """`python -m tests.hostile.attacks` writes the page again."""
    assert verdict(play(row, java, tmp_path)) == verdict(read_table()[row.name][JAVA])


LOOKUP, WIPE = codes.GET_ROUTEINFO_BY_TOPIC, codes.WIPE_WRITE_PERM_OF_BROKER
NO_TOPIC = {"topic": "none"}
NO_BROKER = {"brokerName": "none"}


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
    attacked: NameServer, source: str, code: int, ext: dict[str, str] | None, answer: int
) -> None:
    with Client(attacked.port, source=source) as client:
        assert client.request(code, ext).code == answer


def test_a_key_with_its_certificate_is_enough(attacked: NameServer, folder: Path) -> None:
    known = any_server(Files(folder, folder / "client" / "certificate.pem", folder / "client" / "key.pem"))
    with TlsClient(attacked.port, source=UNKNOWN, context=known) as client:
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
def test_who_may_register_a_broker(attacked: NameServer, source: str, broker: str, answer: int) -> None:
    body = register_body([topic_config("T"), topic_config("U")])
    with Client(attacked.port, source=source) as client:
        # Each at its own address: one that a broker of another name just left may still be that one's.
        ext = register_ext(broker=broker, addr=f"{source}:10911", body=body)
        assert client.request(codes.REGISTER_BROKER, ext, body).code == answer
