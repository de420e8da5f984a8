"""KVConfigManager: namespaces, keys, values, and the file that keeps them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns import files
from rocketns.config import Limits
from rocketns.errors import RequestError, StartupError
from rocketns.kvconfig.file import KvChange
from rocketns.kvconfig.manager import PRINTED_CHARACTERS_MAX, PRINTED_ITEMS_MAX, KVConfigManager


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


def write(manager: KVConfigManager, change: KvChange | None) -> None:
    """Write the file with a change, as the writer does."""
    files.replace_with_backup(manager.path, manager.file.chunks([change]))


def test_every_change_is_in_the_file(manager: KVConfigManager, path: Path) -> None:
    """B094, B101, B102, B105, B108."""
    write(manager, manager.put("ns", "k", "v"))
    assert path.read_bytes() == b'{"configTable":{"ns":{"k":"v"}}}'
    write(manager, manager.put("ns", "k", "<é>\n"))
    assert path.read_bytes() == '{"configTable":{"ns":{"k":"<é>\\n"}}}'.encode()
    assert path.with_name("kv.json.bak").read_bytes() == b'{"configTable":{"ns":{"k":"v"}}}'
    write(manager, manager.delete("ns", "k"))
    assert path.read_bytes() == b'{"configTable":{"ns":{}}}'
    assert loaded(path) == manager.config_table == {"ns": {}}


@pytest.mark.parametrize(("namespace", "key"), [("ns", "zz"), ("zz", "k"), (None, "k"), ("ns", None), (None, None)])
def test_a_missing_key_is_not_found_and_may_be_deleted(
    manager: KVConfigManager, path: Path, namespace: str | None, key: str | None
) -> None:
    """B099, B100, B101: the file is written all the same."""
    write(manager, manager.put("ns", "k", "v"))
    path.unlink()
    assert manager.get(namespace, key) is None
    write(manager, manager.delete(namespace, key))
    assert manager.config_table == {"ns": {"k": "v"}}
    assert loaded(path) == {"ns": {"k": "v"}}


@pytest.mark.parametrize(
    ("content", "table"),
    [
        (b'{"configTable":{}}', {}),
        (b'{"configTable":{"ns":{"k":"v"}},"other":[1,2]}', {"ns": {"k": "v"}}),
        (b"/*c*/{\"configTable\":{'ns':{'k':'v',}}}", {"ns": {"k": "v"}}),
        (b'{"configTable":{"ns":{"k":5,"l":true,"m":{"x":1},"n":null}}}',
         {"ns": {"k": "5", "l": "true", "m": '{"x":1}', "n": None}}),
        (b'{"configTable":{5:{"k":"v"}}}', {"5": {"k": "v"}}),
        (b"null", {}),
        (b"", {}),
        (b'{"configTable":{"ns":null,"other":{"k":"v"}}}', {"other": {"k": "v"}}),
        (b'\xef\xbb\xbf{"configTable":{"ns":{"k":"v"}}}', {"ns": {"k": "v"}}),
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


def test_only_the_first_items_of_a_large_table_are_printed(
    manager: KVConfigManager, caplog: pytest.LogCaptureFixture
) -> None:
    """80,000 lines do not block control."""
    for number in range(PRINTED_ITEMS_MAX + 7):
        manager.put("ns", str(number), "v" * 2 * PRINTED_CHARACTERS_MAX)
    caplog.clear()
    with caplog.at_level("INFO"):
        manager.print_all()
    assert len(caplog.messages) == 2 + PRINTED_ITEMS_MAX + 1
    assert caplog.messages[2] == f"configTable NS: ns Key: 0 Value: {'v' * PRINTED_CHARACTERS_MAX}"
    assert caplog.messages[-1] == "configTable has 7 more items"


def bounded(path: Path, kv_bytes_max: int = 1000, kv_value_bytes_max: int = 500) -> KVConfigManager:
    return KVConfigManager(path, Limits(kv_bytes_max=kv_bytes_max, kv_value_bytes_max=kv_value_bytes_max))


def test_a_table_is_full_at_exactly_its_bytes(path: Path) -> None:
    """Two namespaces and three keys count 100 each; é counts two."""
    manager = bounded(path)
    manager.put("n1", "k", "é" * 100)  # 100 + 2, 100 + 1 + 200
    manager.put("n2", "k", None)  # 100 + 2, 100 + 1
    manager.put("n2", "l", "v" * 292)
    before = dict(manager.config_table)
    with pytest.raises(RequestError, match=r"would have 1001 bytes, more than rocketns\.kvBytesMax=1000"):
        manager.put("n2", "l", "v" * 294)
    assert (manager.bytes, manager.config_table) == (999, before)
    manager.put("n2", "l", "v" * 293)
    assert manager.bytes == 1000
    manager.delete("n2", "k")
    manager.put("n1", "l", "")
    assert manager.bytes == 1000


def test_a_value_may_have_so_many_bytes_and_no_more(path: Path) -> None:
    manager = bounded(path, 10_000)
    manager.put("ns", "k", "é" * 250)
    with pytest.raises(RequestError, match=r"has 501 bytes, more than rocketns\.kvValueBytesMax=500"):
        manager.put("ns", "k", "é" * 250 + "v")
    with pytest.raises(RequestError, match="the key has 501 bytes"):
        manager.put("ns", "k" * 501, "")
    with pytest.raises(RequestError, match="the namespace has 501 bytes"):
        manager.put("n" * 501, "k", "")
    assert manager.config_table == {"ns": {"k": "é" * 250}}


def test_a_file_larger_than_the_bound_is_served_and_may_shrink(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An operator's file from Java is taken over whatever its size."""
    path.write_text(json.dumps({"configTable": {"ns": {"k": "v" * 5_000}}}))
    manager = bounded(path)
    manager.load()
    assert "over the limit rocketns.kvBytesMax=1000" in caplog.text
    with pytest.raises(RequestError, match="kvBytesMax"):
        manager.put("ns", "new", "")
    manager.put("ns", "k", "w" * 500)
    manager.put("ns", "new", "")
    assert manager.bytes == counted(manager.config_table) == 100 + 2 + 100 + 1 + 500 + 100 + 3


keys = st.sampled_from(["a", "b", "", "é", "\ud800", '"', "\x01" * 70_000])
values = st.none() | st.sampled_from(["v", "", "\x00\n", "\U0001f600", "long" * 50_000])
steps = st.lists(st.tuples(keys, keys, values, st.booleans(), st.booleans()))


@given(steps)
def test_the_file_always_holds_the_table(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str | None, bool, bool]]
) -> None:
    """After any puts and deletes, one by one or in groups. (A lone surrogate is written as '?', as in Java.)"""
    manager = KVConfigManager(tmp_path_factory.getbasetemp() / "property.json")
    waiting: list[KvChange | None] = []
    for namespace, key, value, put, group in steps:
        waiting.append(manager.put(namespace, key, value) if put else manager.delete(namespace, key))
        if not group:
            written = b"".join(manager.file.chunks(waiting))
            waiting.clear()
            assert json.loads(written) == {"configTable": as_stored(manager.config_table)}
    assert manager.bytes == counted(manager.config_table)


def as_stored(tables: dict[str, dict[str, str | None]]) -> dict[str, dict[str, str]]:
    return {
        name.replace("\ud800", "?"): {
            key.replace("\ud800", "?"): value for key, value in table.items() if value is not None
        }
        for name, table in tables.items()
    }


def counted(tables: dict[str, dict[str, str | None]]) -> int:
    """What a table is said to count: UTF-8 bytes, and 100 for each namespace and key."""
    texts = [*tables, *(text for table in tables.values() for item in table.items() for text in item if text)]
    items = len(tables) + sum(map(len, tables.values()))
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) + 100 * items
