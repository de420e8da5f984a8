"""The command line: Java's options and exit statuses, and help that names everything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rocketns import __version__, cli
from rocketns.__main__ import AUDIT, COLLECT, REPLAY, SHADOW, SWITCH, TOOLS, main
from rocketns.cli import Options
from rocketns.config import properties
from rocketns.config.sections import CLASSES
from rocketns.config.texts.system import SYSTEM_PROPERTIES
from rocketns.config.tls import TLS_PROPERTIES


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ("", Options()),
        ("-c a.properties", Options(config_file="a.properties")),
        ("--configFile a.properties", Options(config_file="a.properties")),
        ("--configFile=a.properties", Options(config_file="a.properties")),
        ("-p", Options(print_config_items=True)),
        ("--printConfigItem", Options(print_config_items=True)),
        ("-n a:1;b:2", Options()),
        ("--namesrvAddr a:1", Options()),
        ("-Da.b=1 -Da.b=2 -Dc=d=e", Options(system={"a.b": "2", "c": "d=e"})),
        ("-D a=", Options(system={"a": ""})),
        ("--log-format json", Options(log_format="json")),
        ("--log-files --log-level DEBUG", Options(log_files=True, log_level="DEBUG")),
    ],
)
def test_options_are_understood(arguments: str, options: Options) -> None:
    assert cli.parse(arguments.split()) == options


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


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parse(["--help"])
    introduction = capsys.readouterr().out.partition("options:")[0]
    words = set(re.findall(r"\w+", " ".join(re.findall(r"rocketns (.*) --help", introduction))))
    assert {*TOOLS, AUDIT, COLLECT, SHADOW, SWITCH, REPLAY} <= words


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_property_with_its_default(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """B244: exit status 0."""
    with pytest.raises(SystemExit) as raised:
        cli.parse([option])
    shown = capsys.readouterr().out
    assert raised.value.code == 0
    assert shown.startswith("usage: mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p]")
    for kind in CLASSES:
        prefix = getattr(kind, "prefix", "")
        for name, declaration in properties.declared(kind).items():
            default = "-" if declaration.default in (None, "") else properties.show(declaration.default)
            line = next(line for line in shown.splitlines() if line.startswith(f"  {prefix}{name} ({default})  "))
            for part in ("doc", "unit", "at_limit"):
                assert declaration.metadata[part] in line
            assert properties.bounds_text(declaration) in line
            assert declaration.metadata["effect"].value in line
    for one in (*SYSTEM_PROPERTIES, *TLS_PROPERTIES):
        assert f"  {one.name} ({one.default or '-'})  {one.doc}\n" in shown


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        cli.parse(["--version"])
    assert (raised.value.code, capsys.readouterr().out) == (0, f"rocketns {__version__}\n")


def test_config_items_are_printed_and_that_is_all(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """B246: one line goes straight to the descriptor."""
    file = tmp_path / "a.properties"
    file.write_text("listenPort=1\ncustom=2\n")
    assert main(["-p", "-c", str(file), f"-Duser.home={tmp_path}"]) == 0
    first, *items = capfd.readouterr().out.splitlines()
    assert first == f"load config properties file OK, {file}"
    assert {"listenPort=1", "custom=2", f"kvConfigPath={tmp_path}/namesrv/kvConfig.json"} <= set(items)
    assert items == sorted(items)


def test_a_start_that_fails_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B244: exit status 255."""
    assert main(["-c", str(tmp_path / "none")]) == 255
    assert capsys.readouterr().err.startswith("rocketns cannot start: Cannot read the configuration file ")


def test_a_name_server_that_starts_has_loaded_nothing_of_the_other_programs() -> None:
    others = ("pipeline", "pyspark", "rocketns.tools", "rocketns.collect")
    loaded = f"import sys, rocketns.startup; print([m for m in sys.modules if any(one in m for one in {others})])"
    assert subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_audit_as_the_first_word_is_the_other_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: rocketns audit")
    with pytest.raises(SystemExit) as raised:
        main(["-p", "audit"])
    assert raised.value.code == 1
