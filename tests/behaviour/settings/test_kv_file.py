"""The KV file: its format, its backup copy, and how it is read at start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from interop.harness.wire import Client

StartServer = Callable[..., NameServer]
EMPTY = b'{"configTable":{}}'
ONE = b'{"configTable":{"ns":{"k":"v"}}}'


def put(client: Client, value: str) -> None:
    assert client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": value}).code == 0


def delete(client: Client, namespace: str = "ns") -> None:
    assert client.request(codes.DELETE_KV_CONFIG, {"namespace": namespace, "key": "k"}).code == 0


def get(client: Client) -> dict[str, str] | None:
    return client.request(codes.GET_KV_CONFIG, {"namespace": "ns", "key": "k"}).ext


def test_file_is_compact_json_with_a_copy_of_the_content_before(start_server: StartServer, tmp_path: Path) -> None:
    """B105: KV file format. Missing parent folders are created. Each change keeps the previous content as .bak."""
    path = tmp_path / "not" / "yet" / "kv.json"
    copy = path.with_name("kv.json.bak")
    with start_server({"kvConfigPath": path}).connect() as client:
        put(client, "v")
        assert path.read_bytes() == ONE
        assert not copy.exists()
        put(client, "ü</>")
        assert path.read_bytes() == '{"configTable":{"ns":{"k":"ü</>"}}}'.encode()
        assert copy.read_bytes() == ONE
        delete(client)
        assert path.read_bytes() == b'{"configTable":{"ns":{}}}'
        assert copy.read_bytes() == '{"configTable":{"ns":{"k":"ü</>"}}}'.encode()


def test_delete_of_nothing_writes_the_file_too(start_server: StartServer, tmp_path: Path) -> None:
    """B105: every delete writes the file, even one of an unknown namespace."""
    path = tmp_path / "kv.json"
    with start_server({"kvConfigPath": path}).connect() as client:
        assert not path.exists()
        delete(client, "unknown")
        assert path.read_bytes() == EMPTY


@pytest.mark.parametrize("content", [None, b""], ids=["absent", "empty"])
def test_start_without_content_is_fine(start_server: StartServer, tmp_path: Path, content: bytes | None) -> None:
    """B106: KV file absent or empty at start."""
    path = tmp_path / "kv.json"
    if content is not None:
        path.write_bytes(content)
    with start_server({"kvConfigPath": path}).connect() as client:
        assert get(client) == {}


@pytest.mark.parametrize("content", [b'{"configTable":', b"not json", b'{"other":{}}'])
def test_start_with_a_bad_file_fails(start_server: StartServer, tmp_path: Path, content: bytes) -> None:
    """B107: KV file invalid or without configTable: exit 255, and the file stays as it is."""
    path = tmp_path / "kv.json"
    path.write_bytes(content)
    with pytest.raises(ProcessFailed) as failure:
        start_server({"kvConfigPath": path})
    assert failure.value.status == 255
    assert path.read_bytes() == content


def test_values_are_there_after_a_restart(start_server: StartServer) -> None:
    """B108: KV restart."""
    server = start_server()
    with server.connect() as client:
        put(client, "ü\n1")
    server.restart()
    with server.connect() as client:
        assert get(client) == {"value": "ü\n1"}


def test_unknown_keys_in_the_file_are_ignored(start_server: StartServer, tmp_path: Path) -> None:
    """B108: keys beside configTable are ignored."""
    path = tmp_path / "kv.json"
    path.write_bytes(b'{"extra": [1], "configTable": {"ns": {"k": "v"}}}')
    with start_server({"kvConfigPath": path}).connect() as client:
        assert get(client) == {"value": "v"}
