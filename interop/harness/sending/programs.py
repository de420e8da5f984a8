"""Clients in other languages, with the same arguments and printed lines as the Java producer and consumer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.builds import built
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once
from interop.harness.topics import create_group

MESSAGES = 100
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
        return built(self.folder, *self.build)

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
