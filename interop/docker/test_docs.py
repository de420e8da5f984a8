"""Every command of docs/containers.md, in its order, with the real broker of its Compose file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from interop.docker.containers import Container
from interop.docker.engine import Engine
from interop.docker.images import ROOT, Images
from interop.harness import views
from interop.harness.wire import eventually

PAGE = ROOT / "docs" / "containers.md"
COMMANDS = re.findall(r"^ {4,}(docker\S* .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
# Port 9876 of this machine may be taken.
ANY_PORT = ("9876:9876", "127.0.0.1::9876")
MADE = ("namesrv", "readonly", "durable")
TIMEOUT_S = 400.0
# A broker's boot on a busy machine, and its first period of registrations.
REGISTERED_WITHIN_S = 240.0


@pytest.fixture
def _nothing_is_left(engine: Engine) -> Iterator[None]:
    yield
    engine.run(["sh", "-c", f"docker rm --force --volumes {' '.join(MADE)}; docker volume rm namesrv; true"])


@pytest.mark.usefixtures("_nothing_is_left")
def test_commands_of_the_page_work(engine: Engine, built: Images) -> None:
    assert len(COMMANDS) == 9, "a page without commands would pass"
    for command in COMMANDS:
        words = shlex.split(command.replace(*ANY_PORT).replace("$PWD", str(ROOT)))
        _run(engine, built, words)
        if words[:2] == ["docker", "run"]:
            container = Container(engine, words[words.index("--name") + 1])
            assert "boot success" in container.wait_for_output("boot success|Traceback|cannot start")
        elif "up" in words:
            _broker_registers(engine, 3 if "--scale" in words else 1)


def _run(engine: Engine, built: Images, words: list[str]) -> None:
    """``docker build`` gets the test's base and wheels, so that it is done already."""
    folder, environment = ROOT, {"ROCKETMQ_IMAGE": built.rocketmq}
    if words[:2] == ["docker", "build"]:
        assert words[-1] == "."
        words, folder = [*words[:-1], *built.arguments, "."], built.context
    if words[0] == "docker-compose":
        words = [*engine.compose_command(), *words[1:]]
    engine.run(words, cwd=folder, environment=environment, timeout_s=TIMEOUT_S)


def _broker_registers(engine: Engine, servers: int) -> None:
    """The broker finds all name servers by DNS: also those that come while it runs."""
    found = [
        Container(engine, one)
        for service in ("rocketns", "more")
        for one in engine.docker("ps", "-q", f"--filter=label=com.docker.compose.service={service}").split()
    ]
    assert len(found) == servers
    for server in found:
        server.wait_until_it_serves()
        eventually(lambda server=server: "broker-a" in views.brokers(server), REGISTERED_WITHIN_S, every_s=0.3)
