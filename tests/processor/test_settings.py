"""KV configuration and the name server's own properties, as requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketns import files
from rocketns.filewriter import FileWriter
from rocketns.protocol.command import Reply
from rocketns.routeinfo.events import AdminRequested
from tests.processor.asking import World

NK = {"namespace": "ns", "key": "k"}


def test_a_value_is_put_found_listed_and_deleted(world: World, tmp_path: Path) -> None:
    """B094, B098, B101, B102, B103."""
    assert world.ask(100, NK | {"value": "v"}) == Reply()
    assert json.loads((tmp_path / "kv.json").read_bytes()) == {"configTable": {"ns": {"k": "v"}}}
    assert world.ask(101, NK) == Reply(ext_fields={"value": "v"})
    assert world.ask(219, NK) == Reply(body=b'{"table":{"k":"v"}}')
    for _ in range(2):
        assert world.ask(102, NK) == Reply()
    assert world.ask(102, {"namespace": "nope", "key": "k"}) == world.ask(102) == Reply()
    assert world.ask(219, NK) == Reply(body=b'{"table":{}}')


@pytest.mark.parametrize("ext", [None, {}, {"namespace": "ns", "value": "v"}, {"key": "k", "value": "v"}], ids=str)
def test_a_value_needs_a_namespace_and_a_key(world: World, ext: dict[str, Any] | None) -> None:
    """B095."""
    assert world.ask(100, ext) == Reply(1, "namespace or key is null")
    assert world.context.kv_config.config_table == {}


def test_a_null_value_is_stored_and_not_found(world: World) -> None:
    """B096."""
    assert world.ask(100, NK) == Reply()
    assert world.ask(101, NK).code == 22
    assert world.ask(219, NK) == Reply(body=b'{"table":{}}')


def test_an_empty_value_is_a_value(world: World) -> None:
    """B097."""
    world.ask(100, NK | {"value": ""})
    assert world.ask(101, NK) == Reply(ext_fields={"value": ""})


@pytest.mark.parametrize(("name", "value"), [("kvBytesMax", "v" * 300), ("kvValueBytesMax", "v" * 301)])
def test_a_value_beyond_a_limit_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """The error names the property; nothing changed, nothing is written."""
    world = World(tmp_path, "rocketns.kvBytesMax=500\nrocketns.kvValueBytesMax=300\n")
    reply = world.ask(100, NK | {"value": value})
    assert (reply.code, f"more than rocketns.{name}=" in (reply.remark or "")) == (1, True)
    assert (world.context.kv_config.config_table, (tmp_path / "kv.json").exists()) == ({}, False)
    assert [type(event) for event in world.context.take_events()] == [AdminRequested]


def test_too_much_that_waits_for_the_disk_is_refused(world: World) -> None:
    """Before anything is changed: puts, deletes and properties."""
    world.ask(100, NK | {"value": "v"})
    before = world.state()
    world.context.writer = FileWriter(changes_max=0)
    for reply in (world.ask(100, NK), world.ask(102, NK), world.ask(318, None, b"waitSecondsForService=7")):
        assert reply == Reply(2, "[OVERLOAD]system busy, start flow control for a while")
    assert world.state() == before
    assert world.ask(318, None, None) == Reply()


@pytest.mark.parametrize(
    ("ext", "remark"),
    [
        ({"namespace": "ns", "key": "zz"}, "No config item, Namespace: ns Key: zz"),
        ({"namespace": "ns"}, "No config item, Namespace: ns Key: null"),
        (None, "No config item, Namespace: null Key: null"),
    ],
    ids=str,
)
def test_the_answer_names_missing_fields(world: World, ext: dict[str, Any] | None, remark: str) -> None:
    """B099, B100, B104: only one of the two answers has extFields."""
    assert world.ask(101, ext) == Reply(22, remark, {})
    assert world.ask(219, ext) == Reply(22, remark.split(" Key")[0], None)


def test_properties_are_shown_changed_and_written(world: World, tmp_path: Path) -> None:
    """B234, B235, B236, B237."""
    shown = (world.ask(319).body or b"").decode()
    assert shown == world.configuration.text()
    assert shown.splitlines() == sorted(shown.splitlines(), key=lambda line: line.split("=")[0])
    before = (tmp_path / "namesrv.properties").read_bytes()
    body = b"waitSecondsForService=7\nunknownKey=1\nclientRequestThreadPoolNums=4.5\n"
    assert world.ask(318, None, body) == Reply()
    assert world.configuration.namesrv.wait_seconds_for_service == 7
    assert (tmp_path / "namesrv.properties").read_text() == world.configuration.text()
    assert (tmp_path / "namesrv.properties.bak").read_bytes() == before
    assert "unknownKey" not in world.configuration.text()


def test_some_properties_may_not_be_changed(world: World) -> None:
    """B238: nothing of the request is applied."""
    before = world.state()
    reply = world.ask(318, None, b"waitSecondsForService=7\nkvConfigPath=/x\n")
    assert reply == Reply(16, "Can not update config in black list.")
    assert world.state() == before


def test_no_body_changes_nothing(world: World, tmp_path: Path) -> None:
    """B240."""
    assert world.ask(318, {}) == Reply()
    assert not (tmp_path / "namesrv.properties.bak").exists()


def test_a_file_that_cannot_be_written_is_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B094, B235: Java answers success. The change takes effect all the same, and the log has a line."""

    def fail(_path: Path, _content: bytes) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(files, "replace_with_backup", fail)
    replies = world.ask(318, None, b"waitSecondsForService=7"), world.ask(100, NK | {"value": "v"})
    for reply, path in zip(replies, (world.context.config_file.path, world.context.kv_config.path), strict=True):
        assert reply == Reply(1, f"cannot write {path}: disk full. The change is in effect, but a restart loses it.")
    assert (world.configuration.namesrv.wait_seconds_for_service, world.ask(101, NK).code) == (7, 0)
    assert [record.levelname for record in caplog.records if "disk full" in record.getMessage()] == ["ERROR"] * 2
