"""The command line: Java's options and exit statuses, and the language that programs speak."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rocketns import cli
from rocketns.__main__ import PROGRAMS, TOOLS, main
from rocketns.languages.texts import CHINESE, ENGLISH, of_environment


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ("", {}),
        ("-c a.properties", {"config_file": "a.properties"}),
        ("--configFile=a.properties", {"config_file": "a.properties"}),
        ("--printConfigItem", {"print_config_items": True}),
        ("--namesrvAddr a:1", {"namesrvAddr": "a:1"}),
        ("-Da.b=1 -Dc=d=e", {"system": [("a.b", "1"), ("c", "d=e")]}),
        ("--log-files --log-level DEBUG", {"log_files": True, "log_level": "DEBUG"}),
    ],
)
def test_options_are_understood(arguments: str, options: dict[str, object]) -> None:
    assert vars(cli.parse(arguments.split())) == vars(cli.parse([])) | options


@pytest.mark.parametrize(
    "arguments",
    ["-x", "--nope", "extra", "-c", "--config a", "-Dx", "-D=x", "--log-level LOUD", "--print"],
)
def test_an_error_prints_the_usage(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    """B244: exit status 1. Abbreviations are not understood either."""
    with pytest.raises(SystemExit) as raised:
        cli.parse(arguments.split())
    assert raised.value.code == 1
    message, usage, *_ = capsys.readouterr().err.splitlines()
    assert message
    assert usage.startswith("usage: mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p]")


def test_config_items_are_printed_and_that_is_all(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """B246: one line goes straight to the descriptor."""
    file = tmp_path / "a.properties"
    file.write_text("listenPort=1\ncustom=2\n")
    assert main(["-p", "-c", str(file), f"-Duser.home={tmp_path}"]) == 0
    first, *items = capfd.readouterr().out.splitlines()
    assert first == f"load config properties file OK, {file}"
    assert {"listenPort=1", "custom=2", f"kvConfigPath={tmp_path}/namesrv/kvConfig.json"} <= set(items)
    assert items == sorted(items)


def test_a_name_server_that_starts_has_loaded_nothing_of_the_other_programs() -> None:
    others = ("pipeline", "pyspark", "rocketns.tools", "rocketns.collect")
    loaded = f"import sys, rocketns.startup; print([m for m in sys.modules if any(one in m for one in {others})])"
    assert subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, CHINESE),
        ({"LANG": "de_DE.UTF-8"}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, CHINESE),
    ],
)
def test_the_first_variable_that_is_set_names_the_language(environment: dict[str, str], language: str) -> None:
    assert of_environment(environment) == language


def said(*words: str, lang: str = "C") -> tuple[int, str]:
    """The exit status of `rocketns WORDS`, and what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "rocketns", *words],
        env={**os.environ, "LC_ALL": lang, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    return ran.returncode, (ran.stdout + ran.stderr).decode()


def test_help_is_chinese_by_the_option_and_by_the_environment() -> None:
    _, by_option = said("get", "route", "--language=zh", "--help")
    _, by_environment = said("get", "route", "--help", lang="zh_CN.UTF-8")
    assert "用法：" in by_option
    assert by_option == by_environment
    assert "usage:" in said("get", "--language", "en", "--help", lang="zh_CN.UTF-8")[1]


@pytest.mark.parametrize(("word", "near"), [("shaddow", "shadow"), ("dif", "diff"), ("x\x1b[2J", "--help")])
def test_an_unknown_command_suggests_the_nearest(word: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == cli.EXIT_USAGE
    said = capsys.readouterr().err
    assert near in said
    assert "\x1b" not in said


def test_the_help_names_every_command() -> None:
    named = " ".join(re.findall(r"rocketns ([a-z, ]+)", cli.INTRODUCTION))
    assert set(re.findall(r"[a-z]+", named)) >= {*PROGRAMS, *TOOLS}
