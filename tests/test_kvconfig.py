"""KVConfigManager: namespaces, keys, values, and the file that keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.support.profile  # noqa: F401
from rocketns import files
from rocketns.errors import StartupError
from rocketns.kvconfig import KVConfigManager


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kv.json"


@pytest.fixture
def manager(path: Path) -> KVConfigManager:
    return KVConfigManager(path)


def loaded(path: Path) -> dict[str, dict[str, str | None]]:
    manager = KVConfigManager(path)
    manager.load()
    return manager.config_table


def test_every_change_is_in_the_file(manager: KVConfigManager, path: Path) -> None:
    """B094, B101, B102, B105, B108."""
    manager.put("ns", "k", "v")
    assert path.read_bytes() == b'{"configTable":{"ns":{"k":"v"}}}'
    manager.put("ns", "k", "<é>\n")
    assert path.read_bytes() == '{"configTable":{"ns":{"k":"<é>\\n"}}}'.encode()
    assert path.with_name("kv.json.bak").read_bytes() == b'{"configTable":{"ns":{"k":"v"}}}'
    manager.delete("ns", "k")
    assert path.read_bytes() == b'{"configTable":{"ns":{}}}'
    assert loaded(path) == manager.config_table == {"ns": {}}


@pytest.mark.parametrize(("namespace", "key"), [("ns", "zz"), ("zz", "k"), (None, "k"), ("ns", None), (None, None)])
def test_what_is_not_there_is_not_found_and_deleting_it_is_fine(
    manager: KVConfigManager, path: Path, namespace: str | None, key: str | None
) -> None:
    """B099, B100, B101: the file is written all the same."""
    manager.put("ns", "k", "v")
    path.unlink()
    assert manager.get(namespace, key) is None
    manager.delete(namespace, key)
    assert manager.config_table == {"ns": {"k": "v"}}
    assert loaded(path) == {"ns": {"k": "v"}}


def test_a_null_value_is_held_but_neither_found_nor_written(manager: KVConfigManager, path: Path) -> None:
    """B096."""
    manager.put("ns", "k", None)
    assert (manager.get("ns", "k"), manager.namespace("ns"), manager.namespace("x")) == (None, {"k": None}, None)
    assert loaded(path) == {"ns": {}}


@pytest.mark.parametrize("content", [None, b""])
def test_no_file_or_an_empty_one_is_an_empty_table(path: Path, content: bytes | None) -> None:
    """B106."""
    if content is not None:
        path.write_bytes(content)
    assert loaded(path) == {}


@pytest.mark.parametrize(
    ("content", "table"),
    [
        (b'{"configTable":{}}', {}),
        (b'{"configTable":{"ns":{"k":"v"}},"other":[1,2]}', {"ns": {"k": "v"}}),
        (b"/*c*/{\"configTable\":{'ns':{'k':'v',}}}", {"ns": {"k": "v"}}),
        (b'{"configTable":{"ns":{"k":5,"l":true,"m":{"x":1},"n":null}}}',
         {"ns": {"k": "5", "l": "true", "m": '{"x":1}', "n": None}}),
        (b'{"configTable":{5:{"k":"v"}}}', {"5": {"k": "v"}}),
    ],
)  # fmt: skip
def test_a_file_is_read_as_java_reads_it(path: Path, content: bytes, table: dict[str, dict[str, str | None]]) -> None:
    """B105: what fastjson2 takes of a file written by hand."""
    path.write_bytes(content)
    assert loaded(path) == table


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"5", b" ", b"{", b'{"configTable":null}', b'{"configTable":[]}', b'{"configTable":{"ns":5}}',
     b'{"configTable":{"ns":[]}}', b'{"configTable":{}}x', b'{"configTable":{null:{}}}', b"\xff"],
)  # fmt: skip
def test_a_damaged_file_stops_the_start_and_stays(path: Path, content: bytes) -> None:
    """B107: with a sentence that says what to do."""
    path.write_bytes(content)
    with pytest.raises(StartupError, match=r"kv\.json is damaged: .*kv\.json\.bak") as raised:
        KVConfigManager(path).load()
    assert raised.value.exit_status == 255
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_read_stops_the_start(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StartupError, match="Cannot read"):
        KVConfigManager(path).load()


def test_a_file_that_cannot_be_written_is_only_logged(
    manager: KVConfigManager, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.mkdir()
    manager.put("ns", "k", "v")
    assert manager.get("ns", "k") == "v"
    assert "persist kvconfig Exception" in caplog.text


def test_everything_is_printed(manager: KVConfigManager, caplog: pytest.LogCaptureFixture) -> None:
    """printAllPeriodically."""
    manager.put("n1", "k", "v")
    manager.put("n2", "l", "")
    caplog.clear()
    with caplog.at_level("INFO"):
        manager.print_all()
    assert caplog.messages[1:] == [
        "configTable SIZE: 2",
        "configTable NS: n1 Key: k Value: v",
        "configTable NS: n2 Key: l Value: ",
    ]


keys = st.sampled_from(["a", "b", "", "é", "\ud800", '"'])
steps = st.lists(st.tuples(keys, keys, st.none() | st.sampled_from(["v", "", "\x00\n", "\U0001f600"]), st.booleans()))


@given(steps)
def test_the_file_always_holds_the_table(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str | None, bool]]
) -> None:
    """Whatever was put and deleted. (A lone surrogate is written as '?', as in Java.)"""
    manager = KVConfigManager(tmp_path_factory.getbasetemp() / "property.json")
    written: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "replace_with_backup", lambda _path, content: written.append(content))
        for namespace, key, value, put in steps:
            manager.put(namespace, key, value) if put else manager.delete(namespace, key)
            expected = {
                name.replace("\ud800", "?"): {
                    key.replace("\ud800", "?"): value for key, value in table.items() if value is not None
                }
                for name, table in manager.config_table.items()
            }
            assert json.loads(written[-1]) == {"configTable": expected}
    assert len(written) == len(steps)
