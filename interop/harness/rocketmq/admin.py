"""mqadmin, as an operator runs it, but all commands in one process: its start costs more than a command.

mqadmin exits with status 0 even when a command failed: MQAdminStartup catches the exception and prints its trace.
So a success is a printed fact. Only where it refuses its options does it exit with status 1, and the process with it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from interop.harness.process import Process
from interop.harness.rocketmq.classes import compiled
from interop.harness.rocketmq.java import CURRENT, Java

COMMAND_TIMEOUT_S = 120.0
ENDED = r"ENDED {}\n"


@dataclass(frozen=True)
class AdminCommand:
    """A command that has ended, and what it printed."""

    words: tuple[str, ...]
    text: str

    def says(self, pattern: str) -> re.Match[str]:
        """It printed a match."""
        match = re.search(pattern, self.text)
        assert match, f"{self.words}: {self.text}"
        return match

    def prints(self, pattern: str) -> re.Match[str]:
        """It printed a match, and no exception."""
        assert "SubCommandException" not in self.text, f"{self.words}: {self.text}"
        return self.says(pattern)

    def fails_with(self, pattern: str) -> re.Match[str]:
        """It printed an exception whose text matches."""
        assert "SubCommandException" in self.text, f"{self.words}: {self.text}"
        return self.says(pattern)


class Admin:
    """mqadmin against a list of name servers. ``options`` are the JVM's."""

    def __init__(self, home: Path, name_servers: str, options: tuple[str, ...] = ()) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.java = Java(home)
        self.name_servers, self.options = name_servers, options
        self._ended = 0

    def run(self, command: str, *arguments: str) -> AdminCommand:
        """``mqadmin command arguments -n name_servers``, to its end. ProcessFailed if mqadmin exits."""
        words = (command, *arguments, "-n", self.name_servers)
        os.write(self._pipe, ("\t".join(words) + "\n").encode())
        self._ended += 1
        self._process.wait_for(ENDED.format(self._ended), COMMAND_TIMEOUT_S)
        return AdminCommand(words, re.split(ENDED.format(r"\d+"), self._process.text())[self._ended - 1])

    @cached_property
    def _pipe(self) -> int:
        """It is open for both directions, so that neither side waits for the other to open it."""
        os.mkfifo(self._commands)
        return os.open(self._commands, os.O_RDWR)

    @property
    def _commands(self) -> Path:
        return self.java.home / "commands"

    @cached_property
    def _process(self) -> Process:
        return self.java.start(
            "MqAdmin", str(self._commands), output="mqadmin.log", more_classes=compiled(CURRENT), options=self.options
        )

    def kill(self) -> None:
        if self._ended:
            self._process.kill()
            os.close(self._pipe)
