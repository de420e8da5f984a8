"""Starting the program: options, exit status, the lines it prints, the port it takes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.process import Process
from interop.harness.servers import BOOT_LINE, NameServer
from interop.harness.wire import Client
from tests.behaviour.calls import settings

RUN_TIMEOUT_S = 60


class Program:
    """The program of either server, run to its end in a home folder of its own."""

    def __init__(self, server_class: type[NameServer], home: Path) -> None:
        self.kind = server_class.kind
        self.home = home
        self.command = server_class.program([f"-Duser.home={home}"])
        self.config = home / "ns.properties"
        self.write_config(listenPort=0)

    def write_config(self, **more: object) -> None:
        lines = {"bindAddress": "127.0.0.1", "kvConfigPath": self.home / "kv.json"} | more
        self.config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Exit status and output."""
        done = subprocess.run(
            [*self.command, *arguments], cwd=self.home, env=os.environ | environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=RUN_TIMEOUT_S, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def start(self, *arguments: str) -> Process:
        return Process([*self.command, *arguments], self.home / "stdout.log", cwd=self.home)


@pytest.fixture
def program(server_class: type[NameServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("ROCKETMQ_HOME", str(tmp_path))
    return Program(server_class, tmp_path)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_ends_with_zero(program: Program, option: str) -> None:
    """B244: the usage text begins as Java's does."""
    status, output = program.run(option)
    assert status == 0
    assert "usage: mqnamesrv [-c <arg>] [-h] [-n <arg>] [-p]" in output


@pytest.mark.parametrize("arguments", [("-x",), ("--nonsense",), ("-c",)], ids=" ".join)
def test_a_bad_option_ends_with_one(program: Program, arguments: tuple[str, ...]) -> None:
    """B244: after a message and the usage text."""
    status, output = program.run(*arguments)
    assert status == 1
    assert "usage: mqnamesrv" in output


@pytest.mark.parametrize("option", ["-p", "--printConfigItem"])
def test_printing_the_configuration_ends_with_zero(program: Program, option: str) -> None:
    """B244: nothing is started."""
    status, output = program.run("-c", str(program.config), option)
    assert status == 0
    assert "boot success" not in output


def test_a_missing_home(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """B244: Java ends with 254; rocketns starts, and its paths fall back to the user's home."""
    monkeypatch.delenv("ROCKETMQ_HOME")
    program.config.write_text("listenPort=0\nbindAddress=127.0.0.1\n")
    process = program.start("-c", str(program.config))
    if program.kind == "java":
        assert process.wait() == 254
        assert "Please set the ROCKETMQ_HOME variable" in process.text()
        return
    # rocketns needs no RocketMQ installation, so it does not demand one.
    try:
        port = int(process.wait_for(BOOT_LINE)[1])
        with Client(port) as client:
            assert settings(client)["kvConfigPath"] == str(program.home / "namesrv" / "kvConfig.json")
    finally:
        process.stop()


def test_a_missing_file_ends_with_255(program: Program) -> None:
    """B244: nothing is started with defaults instead."""
    status, output = program.run("-c", str(program.home / "missing.properties"))
    assert status == 255
    assert "missing.properties" in output
    assert "boot success" not in output


def test_an_item_of_a_list_that_cannot_be_a_name_server_ends_with_255(program: Program) -> None:
    """The message names the property and the item."""
    program.config.write_text("listenPort=0\nrocketns.peers=127.0.0.1:9876,10.0.0.0/8\n", "utf-8")
    status, output = program.run("-c", str(program.config))
    assert status == 255
    assert "rocketns.peers has '10.0.0.0/8', but each must be host:port" in output
    assert "boot success" not in output


def test_a_port_in_use_ends_with_255(program: Program, server: NameServer) -> None:
    """B244: the message names the address."""
    program.write_config(listenPort=server.port)
    status, output = program.run("-c", str(program.config))
    assert status == 255
    assert f"127.0.0.1:{server.port}" in output
    assert "boot success" not in output


@pytest.mark.parametrize("bind", ["127.0.0.1", "localhost"])
def test_the_boot_line(start_server: Callable[..., NameServer], bind: str) -> None:
    """B245: a line of its own with the address as configured and the port as bound."""
    server = start_server({"bindAddress": bind})
    expected = f"The Name Server boot success. serializeType=JSON, address {bind}:{server.port}"
    assert expected in server.process.text().splitlines()


def test_the_configuration_line(start_server: Callable[..., NameServer]) -> None:
    """B246: before the boot line."""
    server = start_server()
    lines = server.process.text().splitlines()
    at = lines.index(f"load config properties file OK, {server.config_path}")
    assert any("boot success" in line for line in lines[at:])


@pytest.mark.parametrize("option", ["-c", "--configFile"])
def test_the_configuration_file_as_typed(program: Program, option: str) -> None:
    """B246: a relative path stays one, in the line and as configStorePath."""
    process = program.start(option, program.config.name)
    try:
        port = int(process.wait_for(BOOT_LINE)[1])
        assert f"load config properties file OK, {program.config.name}" in process.text().splitlines()
        with Client(port) as client:
            assert settings(client)["configStorePath"] == program.config.name
    finally:
        process.stop()


def test_port_zero_takes_a_free_port(server: NameServer, client: Client) -> None:
    """B247: shown in 319 and in the boot line."""
    assert f"address 127.0.0.1:{server.port}\n" in server.process.text()
    assert 0 < server.port < 65536
    assert settings(client)["listenPort"] == str(server.port)
