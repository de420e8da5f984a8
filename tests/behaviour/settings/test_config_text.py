"""The properties text of UPDATE_NAMESRV_CONFIG: Java's rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.calls import settings, update_settings

KEY = "productEnvName"


@pytest.fixture(scope="module")
def changed_server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    started = server_class(tmp_path_factory.mktemp("text"), {"a\\ b\\:c": "before"})
    yield started
    started.stop()


@pytest.fixture
def connection(changed_server: NameServer) -> Iterator[Client]:
    with changed_server.connect() as client:
        update_settings(client, f"{KEY}=before\n")
        yield client


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"productEnvName=v", "v"),
        (b"productEnvName:v\n", "v"),
        (b"productEnvName v\n", "v"),
        (b"productEnvName\tv\n", "v"),
        (b"  productEnvName  =  v\n", "v"),
        (b"productEnvName = : v\n", ": v"),
        (b"productEnvName==v\n", "=v"),
        (b"productEnvName\n", ""),
        (b"productEnvName=a\\\n   b\n", "ab"),
        (b"productEnvName=a\\\r\n\tb\r\n", "ab"),
        (b"productEnvName=a\\\\\nx=b\n", "a\\"),
        (b"productEnvName=v\r", "v"),
        (b"productEnvName=\\u0041\\u00e9\n", "Aé"),
        (b"productEnvName=\\uD83D\\uDE00\n", "😀"),
        (b"productEnvName=a\\tb\n", "a\tb"),
        (b"productEnvName=a\\qb\\:c\\=d\\#\n", "aqb:c=d#"),
        (b"product\\u0045nvName=v\n", "v"),
        (b"productEnvName=first\nproductEnvName=last\n", "last"),
        ("productEnvName=é日\n".encode(), "é日".encode().decode("latin-1")),
        (b"#productEnvName=1\n!productEnvName=2\n  # productEnvName=3\n", "before"),
        (b"productEnvName=a # no comment\n", "a # no comment"),
        (b"# comment \\\nproductEnvName=v\n", "v"),
        (b"\n\n \t\nproductEnvName=v\n\n", "v"),
        (b"ProductEnvName=v\n", "before"),
    ],
    ids=repr,
)
def test_the_text_follows_javas_rules(connection: Client, text: bytes, value: str) -> None:
    """B241: separators, blanks, comments, continuation lines, escapes, duplicates; raw bytes are Latin-1."""
    assert update_settings(connection, text).code == codes.SUCCESS
    assert settings(connection)[KEY] == value


def test_a_separator_in_a_key_can_be_escaped(connection: Client) -> None:
    """B241: the key "a b:c" is known from the start file."""
    assert update_settings(connection, b"a\\ b\\:c = v\n").code == codes.SUCCESS
    assert settings(connection)["a b:c"] == "v"


def test_a_line_break_in_a_value(changed_server: NameServer, connection: Client) -> None:
    """B241: Java shows and writes values unescaped, so that one becomes two lines. rocketns refuses it."""
    answer = update_settings(connection, b"productEnvName=a\\nb\n")
    if changed_server.kind == "java":
        body = connection.request(codes.GET_NAMESRV_CONFIG).body or b""
        assert b"\nproductEnvName=a\nb\nreturnOrderTopicConfigToBroker=" in body
        assert changed_server.config_path.read_bytes() == body
        return
    assert answer.code == codes.SYSTEM_ERROR
    assert answer.remark == "Can not update config, the value of productEnvName has a control character."
    assert settings(connection)[KEY] == "before"
