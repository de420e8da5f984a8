"""GET_NAMESRV_CONFIG and UPDATE_NAMESRV_CONFIG: shown and changed properties, and the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.calls import settings, update_settings
from tests.check.source import ROOT

BLACK_LIST = ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"]


@pytest.fixture(scope="module")
def changed_server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """A server whose settings the tests of this module change. ``customKey`` is a key that only its file has."""
    started = server_class(tmp_path_factory.mktemp("changed"), {"customKey": "abc", "shutdownWaitTimeSeconds": "x"})
    yield started
    started.stop()


@pytest.fixture
def connection(changed_server: NameServer) -> Iterator[Client]:
    with changed_server.connect() as client:
        yield client


def test_extra_keys_of_the_start_file_are_shown(start_server: Callable[..., NameServer]) -> None:
    """B234: in the same order, unescaped, as UTF-8. File values that do not parse are ignored."""
    extra = {"aCustom": "\\u00e9 1", "zCustom": "a\\tb", "scanNotActiveBrokerInterval": "soon"}
    with start_server(extra).connect() as client:
        shown = settings(client)
    assert list(shown) == sorted(shown)
    assert (shown["aCustom"], shown["zCustom"], shown["scanNotActiveBrokerInterval"]) == ("é 1", "a\tb", "5000")


def test_a_known_key_is_applied_and_persisted(start_server: Callable[..., NameServer]) -> None:
    """B235: each change writes what 319 shows to the file, and the previous content to .bak."""
    server = start_server({"customKey": "abc"})
    copy = Path(f"{server.config_path}.bak")
    original = server.config_path.read_bytes()
    with server.connect() as client:
        assert update_settings(client, "productEnvName=one\ncustomKey=xyz\nserverWorkerThreads=9\n").code == 0
        shown = settings(client)
        first = server.config_path.read_bytes()
        assert (shown["productEnvName"], shown["customKey"], shown["serverWorkerThreads"]) == ("one", "xyz", "9")
        assert first == client.request(codes.GET_NAMESRV_CONFIG).body
        assert copy.read_bytes() == original
        assert update_settings(client, "#nothing\n").code == codes.SUCCESS
        assert (server.config_path.read_bytes(), copy.read_bytes()) == (first, first)


def test_an_unknown_key_is_not_stored(changed_server: NameServer, connection: Client) -> None:
    """B236: the other properties of the request are applied."""
    answer = update_settings(connection, "nobodyKnows=1\nproductEnvName=b236\n")
    assert (answer.code, answer.remark, answer.ext, answer.body) == (codes.SUCCESS, None, None, None)
    assert "nobodyKnows" not in settings(connection)
    assert "nobodyKnows" not in changed_server.config_path.read_text()
    assert settings(connection)["productEnvName"] == "b236"


@pytest.mark.parametrize("key", BLACK_LIST)
@pytest.mark.parametrize("rest", ["", "productEnvName=refused\n"], ids=["alone", "mixed"])
def test_a_black_listed_key_refuses_the_whole_request(
    changed_server: NameServer, connection: Client, key: str, rest: str
) -> None:
    """B238: nothing is applied, nothing written."""
    before, file_before = settings(connection), changed_server.config_path.read_bytes()
    answer = update_settings(connection, f"{rest}{key}=x\n")
    assert (answer.code, answer.remark) == (codes.NO_PERMISSION, "Can not update config in black list.")
    assert settings(connection) == before
    assert changed_server.config_path.read_bytes() == file_before


def test_a_line_break_in_a_value(changed_server: NameServer, connection: Client) -> None:
    """B241: Java shows and writes values unescaped, so that one becomes two lines. rocketns refuses it."""
    before = settings(connection)
    answer = update_settings(connection, b"productEnvName=a\\nb\n")
    if changed_server.kind == "java":
        body = connection.request(codes.GET_NAMESRV_CONFIG).body or b""
        assert b"\nproductEnvName=a\nb\nreturnOrderTopicConfigToBroker=" in body
        assert changed_server.config_path.read_bytes() == body
        return
    assert answer.code == codes.SYSTEM_ERROR
    assert answer.remark == "Can not update config, the value of productEnvName has a control character."
    assert settings(connection) == before


def test_a_request_without_a_body_changes_no_property(start_server: Callable[..., NameServer]) -> None:
    """B240: the file keeps its order, and no .bak appears."""
    server = start_server()
    original = server.config_path.read_bytes()
    with server.connect() as client:
        assert update_settings(client, "").code == codes.SUCCESS
    assert server.config_path.read_bytes() == original
    assert not Path(f"{server.config_path}.bak").exists()


def test_the_black_list_that_the_manual_recommends_holds(start_server: Callable[..., NameServer]) -> None:
    """Each of its names is refused, and each is a property."""
    manual = (ROOT / "docs" / "operating.md").read_text("utf-8")
    [line] = [line.strip() for line in manual.splitlines() if line.startswith("    configBlackList=")]
    black_list = line.partition("=")[2]
    with start_server({"configBlackList": black_list}).connect() as client:
        for name in black_list.split(";"):
            assert name in settings(client)
            assert update_settings(client, f"{name}=1").code == codes.NO_PERMISSION
