"""The process: its arguments, where it can be reached, system properties, priorities, and how it stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.ports import IPV6, free_port, has_ipv6
from interop.harness.process import Process
from interop.harness.servers import BOOT_LINE, NameServer, RocketnsServer
from interop.harness.wire import Answer, Client, eventually
from rocketns.startup import CONTROL_NICENESS
from tests.behaviour.calls import get_kv, put_kv, settings
from tests.behaviour.conftest import Names
from tests.support.certificates import Files, authority
from tests.support.tlsclient import TlsClient, is_served
from tests.support.tlsfiles import served_certificate, tls_properties

Start = Callable[..., NameServer]
RUN_TIMEOUT_S = 60
NICENESS_MAX = 19
GO_AWAY = 1500
MODE = "-Dtls.server.mode="
IPV4 = "127.0.0.1"


class Program:
    """The program, run to its end in a home folder of its own."""

    def __init__(self, server_class: type[NameServer], home: Path) -> None:
        self.home = home
        self.command = server_class.program([f"-Duser.home={home}"])
        self.config = home / "ns.properties"
        self.write_config(listenPort=0)

    def write_config(self, **more: object) -> None:
        lines = {"bindAddress": "127.0.0.1", "kvConfigPath": self.home / "kv.json"} | more
        self.config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Exit status and output."""
        done = subprocess.run(
            [*self.command, *arguments], cwd=self.home, env=os.environ | environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=RUN_TIMEOUT_S, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def start(self, *arguments: str) -> Process:
        return Process([*self.command, *arguments], self.home / "stdout.log", cwd=self.home)


@pytest.fixture
def program(server_class: type[NameServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("ROCKETMQ_HOME", str(tmp_path))
    return Program(server_class, tmp_path)


def test_an_item_of_a_list_that_cannot_be_a_name_server_ends_with_255(program: Program) -> None:
    """The message names the property and the item."""
    program.config.write_text("listenPort=0\nrocketns.peers=127.0.0.1:9876,10.0.0.0/8\n", "utf-8")
    status, output = program.run("-c", str(program.config))
    assert status == 255
    assert "rocketns.peers has '10.0.0.0/8', but each must be host:port" in output
    assert "boot success" not in output


def test_a_port_in_use_ends_with_255(program: Program, server: NameServer) -> None:
    """B244: the message names the address."""
    program.write_config(listenPort=server.port)
    status, output = program.run("-c", str(program.config))
    assert status == 255
    assert f"127.0.0.1:{server.port}" in output
    assert "boot success" not in output


def test_the_configuration_file_as_typed(program: Program) -> None:
    """B246: a relative path stays one, in the line and as configStorePath."""
    process = program.start("--configFile", program.config.name)
    try:
        port = int(process.wait_for(BOOT_LINE)[1])
        assert f"load config properties file OK, {program.config.name}" in process.text().splitlines()
        with Client(port) as client:
            assert settings(client)["configStorePath"] == program.config.name
    finally:
        process.stop()


def test_printing_the_configuration_ends_with_zero(program: Program) -> None:
    """B244: nothing is started."""
    status, output = program.run("-c", str(program.config), "-p")
    assert status == 0
    assert "boot success" not in output


def answers(client: Client) -> bool:
    return client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS


def reached(server: NameServer) -> list[str]:
    """The loopback addresses at which a request is answered."""
    found = []
    for host in (IPV4, IPV6):
        try:
            with Client(server.port, host) as client:
                assert answers(client)
                found.append(host)
        except ConnectionRefusedError:
            pass
    return found


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1, so nothing about IPv6 is tested")


@needs_ipv6
@pytest.mark.parametrize(
    ("bind_address", "hosts"),
    [("0.0.0.0", [IPV4, IPV6]), ("[::]", [IPV4, IPV6]), ("::1", [IPV6])],
)
def test_every_address_is_one_of_ipv4_or_ipv6(
    start_server: Callable[..., NameServer], bind_address: str, hosts: list[str]
) -> None:
    """B245: the boot line shows the address as it is configured. The port is one that no other test listens at, by
    either family."""
    server = start_server({"bindAddress": bind_address, "listenPort": free_port()})
    assert f"address {bind_address}:{server.port}" in server.process.text()
    assert reached(server) == hosts


@needs_ipv6
def test_the_system_property_of_java_leaves_out_ipv6(start_server: Callable[..., NameServer]) -> None:
    """B245: java.net.preferIPv4Stack, which is often in JAVA_OPT."""
    settings = {"bindAddress": "0.0.0.0", "listenPort": free_port()}
    server = start_server(settings, options=["-Djava.net.preferIPv4Stack=true"])
    assert reached(server) == [IPV4]


@needs_ipv6
def test_a_peer_over_ipv4_is_shown_as_such(start_server: Callable[..., NameServer]) -> None:
    """B245: not as ::ffff:127.0.0.1, which the socket for both families gives."""
    server = start_server({"bindAddress": "::"})
    for host in (IPV4, IPV6):
        with Client(server.port, host) as client:
            port = client.socket.getsockname()[1]
            assert answers(client)
        said = f"channelInactive, the channel[{host}:{port}]"
        eventually(lambda said=said: said in server.process.text())  # type: ignore[misc]


def tls_mode(server: NameServer) -> str:
    """The TLS mode that the server shows."""
    plain, tls = is_served(server.connect), is_served(lambda: TlsClient(server.port))
    return {(True, False): "disabled", (True, True): "permissive", (False, True): "enforcing"}[plain, tls]


@pytest.mark.parametrize(
    ("env", "options", "properties", "expected"),
    [
        ({"JAVA_OPT": f"-server -Xmx4g {MODE}disabled -Dx", "JAVA_OPT_EXT": f"{MODE}enforcing"}, [], {}, "enforcing"),
        ({"JAVA_OPT_EXT": f"{MODE}disabled"}, [f"{MODE}enforcing"], {}, "enforcing"),
        ({"JAVA_OPT": f"{MODE}disabled"}, [], {"tls.server.mode": "enforcing"}, "disabled"),
    ],
    ids=["JAVA_OPT_EXT is later", "the command line wins", "the file is asked last"],
)
def test_sources(
    start_server: Start, env: dict[str, str], options: list[str], properties: dict[str, object], expected: str
) -> None:
    """B066: a JVM property may be given in each of these ways."""
    assert tls_mode(start_server(properties, env=env, options=options)) == expected


def test_words_are_taken_as_the_shell_leaves_them(start_server: Start, tmp_path: Path) -> None:
    """B069: the launcher's variables are split at blanks. Quotes and backslashes stay, for instance in a password."""
    identity = authority("tests").issue("one")
    password = "it's\"\\"
    given = tls_properties(Files.write(tmp_path, identity, password=password), keyPassword=password)
    server = start_server(env={"JAVA_OPT": "\n".join(f"-D{name}={value}" for name, value in given.items())})
    assert served_certificate(server) == identity.der


def test_all_of_tls_in_the_configuration_file(start_server: Start, tmp_path: Path) -> None:
    """B069: rocketns reads tls.… properties from this file too, so one file is enough."""
    identity = authority("tests").issue("one")
    server = start_server(tls_properties(Files.write(tmp_path, identity)) | {"tls.server.mode": "enforcing"})
    assert served_certificate(server) == identity.der
    assert tls_mode(server) == "enforcing"


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a niceness of its own on Linux only")
def test_reactors_go_before_control(tmp_path: Path) -> None:
    server = RocketnsServer(tmp_path)
    try:
        control, *others = sorted(int(task.name) for task in Path(f"/proc/{server.pid}/task").iterdir())
        mine = os.getpriority(os.PRIO_PROCESS, 0)
        assert control == server.pid
        assert os.getpriority(os.PRIO_PROCESS, control) == min(mine + CONTROL_NICENESS, NICENESS_MAX)
        assert sum(os.getpriority(os.PRIO_PROCESS, other) == mine for other in others) >= RocketnsServer.reactors
    finally:
        server.stop()


def ask(client: Client, version: int) -> Answer:
    return client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"}, version=version)


@contextmanager
def leaving(server: NameServer) -> Iterator[Client]:
    """A connection opened before the signal; the server now answers GO_AWAY."""
    with server.connect() as client:
        assert ask(client, 513).code == codes.QUERY_NOT_FOUND
        server.process.signal(signal.SIGTERM)
        eventually(lambda: ask(client, 513).code == GO_AWAY)
        yield client


def test_a_second_signal_ends_the_waiting(start_server: Start) -> None:
    """B080: a JVM ignores a second signal."""
    server = start_server({"enableShutdownGracefully": "true", "shutdownWaitTimeSeconds": 3600})
    with leaving(server) as client:
        server.process.signal(signal.SIGTERM)
        assert server.process.wait() == 0
        assert client.is_closed_by_server()


def test_no_waiting_by_default(start_server: Start, names: Names) -> None:
    """B080: no peer gets GO_AWAY. The connections close."""
    server = start_server()
    with server.connect() as client:
        put_kv(client, names.cluster, "k", "v")
        server.process.signal(signal.SIGTERM)
        assert server.process.wait() == 0
        assert client.is_closed_by_server()
    server.start()
    with server.connect() as client:
        assert get_kv(client, names.cluster, "k").ext == {"value": "v"}
