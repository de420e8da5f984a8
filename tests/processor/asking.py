"""Calls the processors directly, with a context, a peer and a clock; shows the whole state as text."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from rocketns.config import Configuration
from rocketns.files import Done, FileWriter, WrittenFile
from rocketns.kvconfig.manager import KVConfigManager
from rocketns.processor import requests
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.command import RemotingCommand, Reply

START = Now(1_000_000, 1_700_000_000_000)


@dataclass(eq=False)
class Connection:
    """A peer."""

    address: str = "10.9.9.9:1234"
    is_announced: bool = False
    host: str = "10.9.9.9"
    peer_names: tuple[str, ...] = ()
    evidence: Any = None


class InlineWriter(FileWriter):
    """Writes and reports the result before `submit` returns."""

    def __init__(self) -> None:
        super().__init__(changes_max=10, bytes_max=1 << 30)

    def submit(self, file: WrittenFile, change: Any, size: int, done: Done) -> None:
        assert size > 0
        done(self._write(file, [change]))


class World:
    """One name server's context. Files are below ``home``; time stands still unless ``now`` is set."""

    def __init__(self, home: Path, properties: str = "", queue_capacity: int = 3_000) -> None:
        config_file = home / "namesrv.properties"
        queue = f"unRegisterBrokerQueueCapacity={queue_capacity}"
        config_file.write_text(f"kvConfigPath={home / 'kv.json'}\n{queue}\n{properties}", "utf-8")
        self.configuration = Configuration.build(str(config_file), home=home)
        self.context = NamesrvContext(
            self.configuration,
            KVConfigManager(Path(self.configuration.namesrv.kv_config_path), self.configuration.limits),
            started_ms=START.ms,
            writer=InlineWriter(),
        )
        self.peer = Connection()
        self.now = START

    def ask(
        self, code: int, ext: dict[str, Any] | None = None, body: bytes | None = None, *, version: int = 513
    ) -> Reply:
        texts = None if ext is None else {key: None if value is None else str(value) for key, value in ext.items()}
        command = RemotingCommand(code, version, 1, 0, texts, body)
        reply = requests.process(self.context, command, self.peer, self.now)
        if reply.after is None:
            return reply
        failures: list[str | None] = []
        reply.after(failures.append)
        return reply if failures == [None] else Reply(1, failures[0])

    def register(self, *topics: str, version: int = 513, state: int = 1, **ext: Any) -> Reply:
        body = register_body([topic_config(name) for name in topics], data_version(state))
        return self.ask(103, register_ext(body=body, **ext), body, version=version)

    def state(self) -> str:
        """Everything that a request could change, as text."""
        tables, kv = self.context.tables, self.context.kv_config.config_table
        return f"{tables} {kv} {self.configuration.text()} {self.context.unregister_queue}"


def crc(body: bytes) -> int:
    return zlib.crc32(body) & 0x7FFFFFFF
