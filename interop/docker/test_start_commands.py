"""By changing only the image's name, every command with which people start Java's name server starts rocketns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.docker.containers import Container
from interop.docker.deployments.announcing import assert_registers_and_finds
from interop.docker.images import Images

# Where the official chart mounts the configuration, read only.
CONFIGURATION = "/home/rocketmq/config/namesrv.p"
CONFIGURED_PORT = 19876

# Commands of charts, compose files and manuals.
COMMANDS: dict[str, list[str]] = {
    "no command": [],
    "sh mqnamesrv": ["sh", "mqnamesrv"],
    "mqnamesrv": ["mqnamesrv"],
    "./mqnamesrv": ["./mqnamesrv"],
    "/bin/bash mqnamesrv": ["/bin/bash", "mqnamesrv"],
    "nameserver": ["nameserver"],
    "folder of a version": ["sh", "-c", "cd /home/rocketmq/rocketmq-4.9.4/bin && ./mqnamesrv"],
    "rocketns": ["rocketns"],
}
WITH_FILE: dict[str, list[str]] = {
    "sh mqnamesrv -c": ["sh", "mqnamesrv", "-c", CONFIGURATION],
    "nameserver -c": ["nameserver", "-c", CONFIGURATION],
    "only -c": ["-c", CONFIGURATION],
    "official chart": ["/bin/sh", "-c", f"./mqnamesrv -c {CONFIGURATION}"],
}
WITH_ROLE: dict[str, list[str]] = {"dummy": ["dummy"], "sh mqnamesrv": ["sh", "mqnamesrv"]}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_command_starts_the_name_server(command: list[str], start: Callable[..., Container]) -> None:
    assert_registers_and_finds(start(*command))


@pytest.mark.parametrize("command", WITH_FILE.values(), ids=WITH_FILE)
def test_command_with_a_file_reads_it(command: list[str], start: Callable[..., Container], tmp_path: Path) -> None:
    """The port of the file is served."""
    file = tmp_path / "namesrv.p"
    file.write_text(f"listenPort={CONFIGURED_PORT}\n", "utf-8")
    mount = f"--volume={file}:{CONFIGURATION}:ro"
    assert_registers_and_finds(start(*command, options=(mount,), listen_port=CONFIGURED_PORT))


@pytest.mark.parametrize("command", WITH_ROLE.values(), ids=WITH_ROLE)
def test_role_in_the_environment_starts_the_name_server(command: list[str], start: Callable[..., Container]) -> None:
    assert_registers_and_finds(start(*command, options=("--env=NODE_ROLE=nameserver",)))


def test_entrypoint_replaced_by_a_chart(start: Callable[..., Container]) -> None:
    """``command:`` of Kubernetes and ``entrypoint:`` of compose files replace the image's own."""
    assert_registers_and_finds(start("mqnamesrv", options=("--entrypoint=sh",)))


@pytest.mark.parametrize("command", [[], ["sh", "mqnamesrv"]], ids=["no command", "sh mqnamesrv"])
def test_image_for_the_operator(command: list[str], start: Callable[..., Container], built: Images) -> None:
    container = start(*command, image=built.operator)
    assert_registers_and_finds(container)
    assert container.execute("sh", "-c", "id -u; pwd; ls -d /root/logs /root/namesrv").split() == [
        *("0", "/root/rocketmq/nameserver/bin", "/root/logs", "/root/namesrv")
    ]


@pytest.mark.parametrize("role", ["broker", "controller"])
def test_other_roles_are_refused(role: str, start: Callable[..., Container]) -> None:
    container = start(role, waits=False)
    assert container.wait() == 1
    assert "only the name server" in container.output()
