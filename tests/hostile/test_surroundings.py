"""Output that nobody reads, a port that is taken."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.calls import put_kv
from tests.hostile.conftest import StartServer
from tests.hostile.witness import MB

# Of each registration, within the bound of names.
TOPICS, TOPIC_CHARACTERS = 5, 4_000
REGISTRATIONS_OF_ONE = 1_000
WAITING_CHARACTERS_MAX = 16 * MB  # log records that wait for their reader


class Piped:
    """A rocketns whose standard output is a pipe that this process may read, or not."""

    def __init__(self, home: Path) -> None:
        self.port = free_port()
        config = home / "namesrv.properties"
        config.write_text(f"bindAddress=127.0.0.1\nlistenPort={self.port}\nkvConfigPath={home / 'kv.json'}\n", "utf-8")
        self.command = [sys.executable, "-m", "rocketns", f"-Duser.home={home}", "-c", str(config)]

    @contextmanager
    def running(self, command: list[str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """Start it and wait until it answers; killed at the end if it still runs."""
        popen = subprocess.Popen(command or self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            eventually(lambda: self.answers() or popen.poll() is not None)
            assert popen.poll() is None, (popen.stderr.read() if popen.stderr else b"").decode()
            yield popen
        finally:
            popen.kill()
            errors = popen.communicate()[1]
        assert errors == b""

    def answers(self) -> bool:
        try:
            with Client(self.port) as client:
                return client.request(codes.GET_NAMESRV_CONFIG).code == codes.SUCCESS
        except ConnectionError:
            return False

    def make_it_log(self, characters: int) -> None:
        """New topics are logged by name, up to 20,000 characters of a registration. No broker has more than it may."""
        with Client(self.port) as client:
            for number in range(-(-characters // (TOPICS * TOPIC_CHARACTERS))):
                topics = [topic_config(f"{number}-{n}-{'t' * TOPIC_CHARACTERS}") for n in range(TOPICS)]
                body = register_body(topics, data_version(number + 1))
                broker = number // REGISTRATIONS_OF_ONE
                ext = register_ext("C", f"b{broker}", f"10.0.0.{broker + 1}:10911", 0) | {"bodyCrc32": "0"}
                assert client.request(codes.REGISTER_BROKER, ext, body).code == codes.SUCCESS

    def make_it_log_a_line(self) -> None:
        """A KV item is logged with its value."""
        with Client(self.port) as client:
            put_kv(client, "ns", "k", "v")


@pytest.fixture
def piped(tmp_path: Path) -> Piped:
    return Piped(tmp_path)


def stops(popen: subprocess.Popen[bytes]) -> bool:
    popen.terminate()
    return popen.wait(60) == 0


def test_output_that_nobody_reads(piped: Piped) -> None:
    """A full pipe blocks nothing: requests are answered, the waiting log is bounded, SIGTERM ends it in time."""
    with piped.running() as popen:
        piped.make_it_log(2 * WAITING_CHARACTERS_MAX)
        assert piped.answers()
        assert stops(popen)


def test_output_on_a_full_disk(piped: Piped) -> None:
    """Standard output that accepts nothing, as a pipe whose reader is gone, costs only the log."""
    with piped.running(["sh", "-c", 'exec "$@" >/dev/full', "sh", *piped.command]) as popen:
        piped.make_it_log_a_line()
        assert piped.answers()
        assert stops(popen)


def test_two_servers_on_one_port(server: NameServer, start_server: StartServer) -> None:
    """B244: the second server exits with 255 and gives the reason in one line. The first is unaffected."""
    with pytest.raises(ProcessFailed) as failure:
        start_server({"listenPort": server.port})
    assert failure.value.status == 255
    (line,) = [line for line in str(failure.value).splitlines() if "cannot start" in line]
    assert line.startswith(f"rocketns cannot start: Failed to bind to 127.0.0.1:{server.port}: ")
    assert os.strerror(98).lower() in line.lower()
    assert f"process {server.pid} (" in line
    assert line.endswith("choose another port by listenPort")
    assert "Traceback" not in str(failure.value)
    with server.connect() as client:
        assert client.request(codes.GET_NAMESRV_CONFIG).code == codes.SUCCESS
