"""A Java name server and rocketns in each of its modes, all started fresh in folders of their own."""

from __future__ import annotations

import itertools
from pathlib import Path

from interop.harness.rocketmq.java import CURRENT, SHORT_KEY
from interop.harness.rocketmq.maven import classpath
from interop.harness.servers import MODES, JavaNameServer, NameServer
from interop.harness.wire import Client
from interop.parity.language import Setup
from interop.parity.pairs import certificates
from interop.parity.pairs.setups import HOME, PEM
from interop.parity.pairs.side import Side

NO_LOG = '<configuration><root level="OFF"/></configuration>'


class Pair:
    """Started on construction. Java's side and ``ours``, one for each mode; ``numbers`` count the plays."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self.setup, self.folder = setup, folder
        self.numbers = itertools.count(1)
        self._servers: list[NameServer] = []
        self._stopped = False
        try:
            self.java = self._start(JavaNameServer, setup)
            self.ours = tuple(self._start(mode, setup) for mode in MODES)
        except BaseException:
            self.stop()
            raise
        self.at_start = [settings(side.server.port) if setup.plain else {} for side in self.sides]

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.java, *self.ours

    def _start(self, kind: type[NameServer], setup: Setup) -> Side:
        home = self.folder / kind.kind / kind.mode
        home.mkdir(parents=True)
        for name, content in setup.files.items():
            write_file(home / name, content)
        options = [option.replace(HOME, str(home)) for option in setup.options]
        if kind is JavaNameServer:
            write_file(home / "logback.xml", NO_LOG)
            own = [f"-Drmq.logback.configurationFile={home}/logback.xml", *(() if setup.long_key else (SHORT_KEY,))]
            options = [*own, *options]
            options += ["-cp", classpath(CURRENT)]
        properties: dict[str, object] = {
            key: str(value).replace(HOME, str(home)) for key, value in setup.properties.items()
        }
        server = kind(home, properties, options=options, env=dict(setup.env))
        self._servers.append(server)
        return Side(server)

    def are_running(self) -> bool:
        return not self._stopped and all(server.process.popen.poll() is None for server in self._servers)

    def stop(self) -> None:
        """Stop all at once; no test reads their last output."""
        self._stopped = True
        for server in self._servers:
            server.kill()


def write_file(path: Path, content: str) -> None:
    """A text, in which HOME is the file's folder, or a certificate or key by its name.

    Written atomically: Java's file watch takes a half-written file for a changed one and keeps it.
    """
    if content.startswith(PEM):
        data = certificates.pem(content.removeprefix(PEM))
    else:
        data = content.replace(HOME, str(path.parent)).encode()
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(data)
    beside.replace(path)


def settings(port: int) -> dict[str, str]:
    """What GET_NAMESRV_CONFIG shows, in its order; nothing in cluster-test mode."""
    with Client(port) as client:
        body = client.request(319).body or b""
    return dict(line.split("=", 1) for line in body.decode().splitlines() if "=" in line)
