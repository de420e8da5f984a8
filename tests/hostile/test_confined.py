"""The server lives a whole life under the image's seccomp profile, and under the service unit's filter."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import pytest

from interop.harness import codes
from interop.harness.payloads import compressed_body, register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from tests.admin.http import Http
from tests.behaviour import calls, views
from tests.check.source import ROOT
from tests.hostile import confined
from tests.hostile.confined import IMAGE, confine
from tests.support.certificates import Files, authority
from tests.support.tlsclient import TlsClient, answers, any_server
from tests.support.tlsfiles import as_options, tls_properties

CALLS = {
    "another family of sockets": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a traced process": "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)",
    "a namespace": "import ctypes; ctypes.CDLL(None).unshare(0x10000000)",
    "a mount": "import ctypes; ctypes.CDLL(None).mount(None, b'/', None, 0, None)",
    "memory to write and execute": "import mmap; mmap.mmap(-1, 4096, prot=7)",
    "another owner of a file": "import os; os.chown('/tmp', 0, 0)",
    "locked memory": "import ctypes; ctypes.CDLL(None).mlock(None, 0)",
}

NOTHING = "nothing"


def status_of(profile: Path, call: str) -> int:
    """As subprocess has it: a signal is negative."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        confine(json.loads(profile.read_text("utf-8")))
        exec(call)
    finally:
        os._exit(0)


TOPICS = [topic_config(f"topic-{number}") for number in range(2_000)]
LOOKUPS = 50


def live(folder: Path, kind: type[RocketnsServer]) -> None:
    """Start a server, use everything, restart it with its journal, stop it."""
    properties = {
        "journalPath": folder / "journal",
        "rocketns.adminPort": free_port(),
        "rocketns.addressServer": free_port(),
        "notifyMinBrokerIdChanged": "true",
    }
    client_files, options = certificates(folder)
    server = kind(folder / "ns", properties, options=options)
    try:
        with ExitStack() as brokers:
            register(server, client_files, brokers)
            look_up(server)
            serve_operators(server, int(str(properties["rocketns.adminPort"])))
            listing = Http(int(str(properties["rocketns.addressServer"])))
            eventually(lambda: b"127.0.0.1" in listing.ask("/rocketmq/nsaddr").body)
            heed_signals(server)
            server.restart()  # it reads its journal, and asks the brokers of it whether they are there
            look_up(server)
        assert server.stop() == 0
    finally:
        server.kill()


def certificates(folder: Path) -> tuple[Files, list[str]]:
    """A client's certificate, and a server's options: it asks for one and takes any, which is decided in Python."""
    signer = authority("confined")
    server = Files.write(folder / "server", signer.issue("localhost"))
    wanted = tls_properties(server, **{"need.client.auth": "optional", "authClient": "false"})
    return Files.write(folder / "client", signer.issue("client")), as_options(wanted)


def register(server: RocketnsServer, client_files: Files, brokers: ExitStack) -> None:
    """A master by JSON, its slave by a compressed body over TLS. Their host name has to be looked up."""
    master = brokers.enter_context(server.connect())
    slave = brokers.enter_context(TlsClient(server.port, context=any_server(client_files)))
    for broker_id, (client, body) in enumerate(((master, register_body(TOPICS)), (slave, compressed_body(TOPICS)))):
        listener = brokers.enter_context(socket.create_server(("127.0.0.1", 0)))
        more = {"addr": f"localhost:{listener.getsockname()[1]}", "compressed": "true" if broker_id else "false"}
        ext = register_ext(broker_id=broker_id, body=body, **more)
        assert client.request(codes.REGISTER_BROKER, ext, body).code == 0


def look_up(server: RocketnsServer) -> None:
    with server.connect() as plain, TlsClient(server.port) as encrypted:
        for number in range(LOOKUPS):
            assert views.route(plain, f"topic-{number}")["brokerDatas"]
        assert views.route(encrypted, "topic-1")["brokerDatas"]


def serve_operators(server: RocketnsServer, admin_port: int) -> None:
    """KV items and properties, which are written to files; the management port."""
    with server.connect() as client:
        calls.put_kv(client, "N", "key", "kept")
        calls.switch(client, "orderMessageEnable", "true")
    for path in ("/livez", "/readyz", "/metrics", "/", "/api/v1/brokers"):
        assert Http(admin_port).ask(path).status in (200, 404), path


def heed_signals(server: RocketnsServer) -> None:
    """Files are read again at SIGHUP, stacks printed at SIGQUIT."""
    server.process.signal(signal.SIGHUP)
    server.process.signal(signal.SIGQUIT)
    eventually(lambda: "nid=" in server.process.text())
    with TlsClient(server.port) as client:
        assert answers(client)


def is_there() -> bool:
    try:
        ctypes.CDLL(confined.LIBRARY)
    except OSError:
        return False
    return True


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not is_there(), reason=f"{confined.LIBRARY} is missing")]

FILTERS = [
    pytest.param(confined.of_the_image, id="image"),
    pytest.param(confined.of_the_unit, id="unit", marks=pytest.mark.needs("systemd-analyze")),
]


class ConfinedServer(RocketnsServer):
    """Killed by the first call that ``profile`` does not allow."""

    profile: ClassVar[Path] = IMAGE

    @classmethod
    def program(cls, options: Sequence[str] = ()) -> list[str]:
        return [sys.executable, str(Path(confined.__file__).resolve()), str(cls.profile), *super().program(options)]


@pytest.fixture
def profile(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(request.param()), "utf-8")
    return path


@pytest.mark.parametrize("profile", FILTERS, indirect=True)
def test_the_server_needs_no_other_call(profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConfinedServer, "profile", profile)
    live(tmp_path, ConfinedServer)


@pytest.mark.parametrize("profile", FILTERS, indirect=True)
def test_whoever_takes_it_over_gets_no_more(profile: Path) -> None:
    command = [sys.executable, "-m", "tests.hostile.test_confined", str(profile)]
    tried = json.loads(subprocess.run(command, cwd=ROOT, check=True, timeout=60, capture_output=True).stdout)
    assert tried == dict.fromkeys(CALLS, -signal.SIGSYS) | {NOTHING: 0}


if __name__ == "__main__":
    calls = CALLS | {NOTHING: "pass"}
    print(json.dumps({name: status_of(Path(sys.argv[1]), call) for name, call in calls.items()}))
