"""RocketMQ's mqadmin: one process a command, as an operator runs it.

mqadmin exits with status 0 even when a command failed: MQAdminStartup catches the exception and prints its trace.
So a success is a printed fact, and the status is only checked on top.
It prints its result in about a second and then takes five more to close its connections, so the exit statuses are
collected at the end while the next commands run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from interop.harness.process import Process
from interop.harness.rocketmq.java import Java

MAIN = "org.apache.rocketmq.tools.command.MQAdminStartup"
ENDING_AT_ONCE_MAX = 2
PRINT_TIMEOUT_S = 120.0


@dataclass
class AdminCommand:
    """A started command."""

    words: tuple[str, ...]
    process: Process

    def prints(self, pattern: str) -> re.Match[str]:
        """Wait until it printed a match; an exception in its output fails at once with the whole output."""
        match = self.process.wait_for(rf"{pattern}|[^\n]*SubCommandException[^\0]*", PRINT_TIMEOUT_S)
        assert "SubCommandException" not in match[0], f"{self.words}: {self.process.text()}"
        return match

    def fails_with(self, pattern: str) -> re.Match[str]:
        """Wait until it printed an exception whose text matches."""
        self.process.wait_for("SubCommandException", PRINT_TIMEOUT_S)
        return self.process.wait_for(pattern, PRINT_TIMEOUT_S)

    def status(self) -> int:
        return self.process.wait(PRINT_TIMEOUT_S)


class Admin:
    """mqadmin against a list of name servers. ``options`` are the JVM's."""

    def __init__(self, home: Path, name_servers: str, options: tuple[str, ...] = ()) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.java = Java(home)
        self.name_servers, self.options = name_servers, options
        self.commands: list[AdminCommand] = []

    def run(self, command: str, *arguments: str) -> AdminCommand:
        """Start ``mqadmin command arguments -n name_servers``."""
        ending = [c for c in self.commands if c.process.popen.poll() is None]
        if len(ending) > ENDING_AT_ONCE_MAX:
            ending[0].status()
        words = (command, *arguments, "-n", self.name_servers)
        process = self.java.start(MAIN, *words, output=f"mqadmin-{len(self.commands)}.log", options=self.options)
        self.commands.append(AdminCommand(words, process))
        return self.commands[-1]

    def statuses(self) -> dict[tuple[str, ...], int]:
        """Wait for every command that was run; what each exited with."""
        return {c.words: c.status() for c in self.commands}

    def kill(self) -> None:
        for command in self.commands:
            command.process.kill()
