"""By changing only the image's name, every command with which people start Java's name server starts rocketns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from interop.docker import containers
from interop.docker.containers import PORT, Container, assert_registers_and_finds
from interop.docker.engine import CommandFailed, Engine
from interop.docker.images import Images

# Where the official chart mounts the configuration, read only.
CONFIGURATION = "/home/rocketmq/config/namesrv.p"
CONFIGURED_PORT = 19876
# Of a shell: all others but process 1 get the signal, and are waited for.
STOP = "kill -TERM -1; while kill -0 -1 2>/dev/null; do sleep 0.05; done"

# Commands of charts, compose files and manuals.
COMMANDS: dict[str, list[str]] = {
    "no command": [],
    "sh mqnamesrv": ["sh", "mqnamesrv"],
    "/bin/bash mqnamesrv": ["/bin/bash", "mqnamesrv"],
    "nameserver": ["nameserver"],
    "folder of a version": ["sh", "-c", "cd /home/rocketmq/rocketmq-4.9.4/bin && ./mqnamesrv"],
    "rocketns": ["rocketns"],
}
WITH_FILE: dict[str, list[str]] = {
    "sh mqnamesrv -c": ["sh", "mqnamesrv", "-c", CONFIGURATION],
    "only -c": ["-c", CONFIGURATION],
    "official chart": ["/bin/sh", "-c", f"./mqnamesrv -c {CONFIGURATION}"],
}


@dataclass(frozen=True)
class Place:
    """A container in which a command is started as ``docker run`` would: after the image's entry point, by its user, in
    its folder, with its environment. A container for each command would take longer than the commands."""

    container: Container
    entry_point: tuple[str, ...]
    command: tuple[str, ...]

    def starts(self, *command: str, port: int = PORT, options: tuple[str, ...] = ()) -> None:
        """The command starts a name server at the port. Afterwards none runs."""
        container = replace(self.container, listen_port=port, _known_port=[])
        container.engine.docker("exec", "--detach", *options, container.id, *command)
        container.wait_until_it_serves()
        assert_registers_and_finds(container)
        container.execute("sh", "-c", STOP)


@pytest.fixture(scope="module")
def place(engine: Engine, built: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    file = tmp_path_factory.mktemp("mounted") / "namesrv.p"
    file.write_text(f"listenPort={CONFIGURED_PORT}\n", "utf-8")
    options = f"--publish=127.0.0.1::{CONFIGURED_PORT}", f"--volume={file}:{CONFIGURATION}:ro", "--entrypoint=sleep"
    container = containers.run(engine, built.rocketns, "infinity", options=options)
    image = json.loads(engine.docker("inspect", "--format", "{{json .Config}}", built.rocketns))
    yield Place(container, tuple(image["Entrypoint"]), tuple(image["Cmd"]))
    container.remove()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_command_starts_the_name_server(command: list[str], place: Place) -> None:
    place.starts(*place.entry_point, *(command or place.command))


@pytest.mark.parametrize("command", WITH_FILE.values(), ids=WITH_FILE)
def test_command_with_a_file_reads_it(command: list[str], place: Place) -> None:
    """The port of the file is served."""
    place.starts(*place.entry_point, *command, port=CONFIGURED_PORT)


def test_role_in_the_environment_and_an_entrypoint_that_a_chart_replaces(place: Place) -> None:
    """``command:`` of Kubernetes and ``entrypoint:`` of compose files replace the image's own."""
    place.starts(*place.entry_point, "dummy", options=("--env=NODE_ROLE=nameserver",))
    place.starts("sh", "mqnamesrv")


def test_other_roles_are_refused(place: Place) -> None:
    with pytest.raises(CommandFailed, match=r"status 1\n[^\0]*only the name server"):
        place.container.execute(*place.entry_point, "broker")


def test_image_for_the_operator(start: Callable[..., Container], built: Images) -> None:
    container = start(image=built.operator)
    assert_registers_and_finds(container)
    assert container.execute("sh", "-c", "id -u; pwd; ls -d /root/logs /root/namesrv").split() == [
        *("0", "/root/rocketmq/nameserver/bin", "/root/logs", "/root/namesrv")
    ]
