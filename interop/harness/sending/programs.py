"""Clients in other languages, with the same arguments and printed lines as the Java producer and consumer."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.maven import cache_folder, kept
from interop.harness.sending.clients import JavaClient, assert_each_arrives_once
from interop.harness.sending.fleet import Fleet
from interop.harness.topics import create_group

MESSAGES = 100
CLIENTS = Path(__file__).parents[2] / "clients"
BUILD_TIMEOUT_S = 1800
NPM_INSTALL = ("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
PIP_INSTALL = (sys.executable, "-m", "pip", "install", "-q", "--target", "lib", "-r", "requirements.txt")


@dataclass(frozen=True)
class Program:
    """A client of ``interop/clients/folder``. In commands ``{folder}`` is where it was built."""

    folder: str
    tools: tuple[str, ...]
    command: tuple[str, ...]
    build: tuple[Sequence[str], ...]
    env: dict[str, str] = field(default_factory=dict)

    @property
    def topic(self) -> str:
        return f"From-{self.folder}"

    def prepare(self) -> Path:
        """A copy of its sources, built once, and again when they change. CalledProcessError if a command fails."""
        sources = CLIENTS / self.folder
        files = sorted(path for path in sources.rglob("*") if path.is_file())
        parts = [path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes() for path in files]
        digest = hashlib.sha256(b"\0".join([*parts, repr(self.build).encode()])).hexdigest()[:16]

        def make(fresh: Path) -> None:
            shutil.copytree(sources, fresh, dirs_exist_ok=True)
            for command in self.build:
                subprocess.run(command, cwd=fresh, check=True, timeout=BUILD_TIMEOUT_S)

        return kept(cache_folder() / "clients" / f"{self.folder}-{digest}", make)

    def start(
        self, mode: str, server: str, topic: str, last: object, fleet: Fleet, more_env: Mapping[str, str] = {}
    ) -> JavaClient:
        """Start it to ``produce`` (last: how many messages) or ``consume`` (last: the group)."""
        folder = str(self.prepare())
        command = [word.format(folder=folder) for word in self.command]
        env = {name: value.format(folder=folder) for name, value in self.env.items()} | dict(more_env)
        return fleet.program(mode, [*command, mode, server, topic, str(last)], env)

    def case(self) -> object:
        """The parameter of a test, which needs the program's tools."""
        return pytest.param(self, id=self.folder, marks=pytest.mark.needs(*self.tools))


def assert_program_sends_and_receives(
    program: Program, server: str, broker: Broker, fleet: Fleet, env: Mapping[str, str] = {}
) -> None:
    """``server`` is what the client is told: name servers, or a proxy. Each message arrives exactly once."""
    group = f"readers-{program.folder}"
    create_group(broker.port, group, program.topic)
    consumer = program.start("consume", server, program.topic, group, fleet, env)
    producer = program.start("produce", server, program.topic, MESSAGES, fleet, env)
    assert_each_arrives_once(producer, consumer, MESSAGES)
