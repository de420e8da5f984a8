"""The arguments of `rocketns audit`: their meaning, and the message for invalid ones. No Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rocketns.pipeline.cli import audit
from rocketns.pipeline.cli import spark as spark_options
from rocketns.pipeline.cli.arguments import COMMANDS, build, parse
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.cli.spark import check_extra, check_java, is_short
from rocketns.pipeline.cli.values import duration, duration_or_folder, instant
from rocketns.pipeline.contract.exits import BadInput


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-02", 86_400_000_000),
        ("1970-01-01T00:06:40", 400_000_000),
        ("1970-01-01 00:00:00.25", 250_000),
        ("1970-01-01T02:00+02:00", 0),
        ("2026-11-21T14:03Z", 1_795_269_780_000_000),
    ],
)
def test_a_time_is_utc_unless_it_has_a_zone(text: str, us: int) -> None:
    assert instant(text) == us


@pytest.mark.parametrize(("text", "us"), [("5s", 5_000_000), ("250ms", 250_000), ("2", 2_000_000), ("1.5m", 90_000_000),
                                          ("7d", 604_800_000_000)])  # fmt: skip
def test_a_duration_is_seconds_unless_it_has_a_unit(text: str, us: int) -> None:
    assert duration(text) == us


def test_the_defaults_of_a_run() -> None:
    options = parse(["run", "--journal", "j", "--out", "o"])
    assert (options.t0, options.t1, options.min_window, options.groups) == (None, None, 5_000_000, (2, 3, 4))
    assert (options.master, options.conf, options.csv, options.dead_days) == (None, [], False, 7)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "COMMAND"),
        ("walk", "'walk'"),
        ("run", "--out"),
        ("run --journal j --out o --from yesterday", "'yesterday' is not a time: write 2026-11-21"),
        ("run --journal j --out o --min-window soon", "'soon' is not a duration: write 5s"),
        ("run --journal j --out o --from 0001-01-01", "write a time after 1970 and before 9987"),
        ("explain T --at 9999-12-31 --journal j", "write a time after 1970 and before 9987"),
        (f"run --journal j --out o --min-window {'9' * 400}", "write a duration of at most 36500d"),
        (f"run --journal j --out o --days {'9' * 5000}", "write a number of days from 1 to 36500"),
        ("run --journal j --out o --dead-days -3", "write a number of days from 1 to 36500"),
        ("run --journal j --out=", "the path is empty: name a folder"),
        ("stream --journal= --out o", "the path is empty: name a folder"),
        ("demo --events 99999999999999", "write a number from 1 to 100000000"),
        ("run --journal j --out o --groups 1", "from 2 to 64, such as 2,3,4"),
        ("run --journal j --out o --conf a=b", "write spark.NAME=VALUE"),
        ("run --journal j --out o --jour x", "--jour"),
        ("explain T --journal j", "--at"),
        ("run --journal j --out o --remote sc://host", "--remote"),
    ],
)
def test_an_error_prints_the_usage(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("usage: rocketns audit")
    assert said in shown
    assert "--help' explains every option" in shown


def test_help_teaches_every_command_and_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"    {name} " in shown for name in COMMANDS)
    assert all(f"  {status} " in shown for status in (0, 1, 2, 3, 70))
    assert "spark-submit" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_help_text(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: rocketns audit {command} ")
    subparsers = next(action for action in build()._actions if action.choices)
    assert all(action.help for action in subparsers.choices[command]._actions)  # type: ignore[index, union-attr]


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(BadInput, match="pip install"):
        check_extra()
    assert main(["run", "--journal", "j", "--out", "o"]) == 2
    assert capsys.readouterr().err == (
        "rocketns audit run: pyspark is not installed, and the audit needs it. "
        "Install it with: pip install 'rocketns[spark]'\n"
    )


@pytest.mark.parametrize("words", ["", "--master sc://host"])
def test_a_spark_connect_server_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    if not words:
        monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    assert main(["stream", "--journal", "j", "--out", "o", *words.split()]) == 2
    assert "not a Spark Connect server. Unset SPARK_REMOTE, and name a master" in capsys.readouterr().err


def test_a_missing_java_is_named_with_what_to_install(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rocketns", "audit", "run", "--journal", "j", "--out", "o"]
    bare = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PYSPARK_GATEWAY_PORT")}
    result = subprocess.run(words, env=bare | {"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "Spark needs a Java runtime, version 17 or newer, and there is no java on the PATH" in result.stderr


def test_a_java_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BadInput, match=r'openjdk version "11\.0\.2"'):
        check_java()


def test_an_error_nobody_foresaw_is_neither_findings_nor_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> int:
        raise RuntimeError("first line\n\tat java.lang.Thread.run(Thread.java:840)\nsecond line")

    monkeypatch.setitem(audit.HANDLERS, "run", fails)
    assert main(["run", "--journal", "j", "--out", "o"]) == 70
    shown = capsys.readouterr().err
    assert "RuntimeError: first line\nsecond line\n" in shown
    assert "java.lang" not in shown


@pytest.mark.parametrize(("sizes", "short"), [((), False), ((60, 40), True), ((60, 41), False)])
def test_a_run_is_short_if_its_journal_is_here_and_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], short: bool
) -> None:
    monkeypatch.setattr(spark_options, "SHORT_BYTES", 100)
    for number, size in enumerate(sizes):
        path = tmp_path / "v=1" / f"dt={number}" / "ns=a" / "1-000001.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * size)
    assert is_short(str(tmp_path)) is short


@pytest.mark.parametrize("journal", ["s3a://bucket/journal", "/no/such/folder"])
def test_a_journal_that_is_elsewhere_may_be_large(journal: str) -> None:
    assert not is_short(journal)


@pytest.mark.parametrize(("text", "taken"), [("1s", 1_000_000), ("2", 2_000_000), ("./1s", "./1s"), ("audit", "audit")])
def test_clocks_of_a_stream_are_a_duration_or_a_folder(text: str, taken: int | str) -> None:
    assert duration_or_folder(text) == taken
