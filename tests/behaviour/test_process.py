"""The process: its arguments, where it can be reached, system properties, priorities, and how it stops."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.ports import IPV6, free_port, has_ipv6
from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import Client, eventually
from rocketns.startup import CONTROL_NICENESS
from tests.support.certificates import Files, authority
from tests.support.tlsclient import is_served
from tests.support.tlsfiles import served_certificate, tls_properties

Start = Callable[..., NameServer]
NICENESS_MAX = 19
IPV4 = "127.0.0.1"


def test_a_port_in_use_ends_with_255(start_server: Start, server: NameServer) -> None:
    """B244: the message names the address."""
    with pytest.raises(ProcessFailed, match=f"127.0.0.1:{server.port}") as failed:
        start_server({"listenPort": server.port})
    assert failed.value.status == 255


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
        eventually(lambda said=said: said in server.process.text())


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
    assert not is_served(server.connect)


def test_settings_without_effect_are_named_after_the_boot_line(start_server: Start) -> None:
    """Where people look, and also an unknown name that is like no property."""
    server = start_server({"custom": 1, "serverSelectorThreads": 3}, options=["-Drocketns.reactors=1"])
    names = ("'custom' has no effect", "serverSelectorThreads is accepted but not used", "-Drocketns.reactors has no")
    for name in names:
        server.process.wait_for(f"boot success(.|\n)* WARN (.|\n)*{name}")
    assert all(server.process.text().count(name) == 1 for name in names)


def test_an_empty_kv_path_keeps_kv_items_in_memory(start_server: Start) -> None:
    """As Java starts with it, though Java also logs a failure for each item."""
    server = start_server({"kvConfigPath": ""})
    item = {"namespace": "ns", "key": "k"}
    with server.connect() as client:
        assert client.request(codes.PUT_KV_CONFIG, item | {"value": "v"}).code == codes.SUCCESS
        assert client.request(codes.GET_KV_CONFIG, item).header["extFields"] == {"value": "v"}
    assert server.stop() == 0
    assert not [path for path in server.home.rglob("*") if "kv" in path.name.lower()]


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a niceness of its own on Linux only")
def test_reactors_go_before_control(tmp_path: Path) -> None:
    with RocketnsServer(tmp_path) as server:
        control, *others = sorted(int(task.name) for task in Path(f"/proc/{server.pid}/task").iterdir())
        mine = os.getpriority(os.PRIO_PROCESS, 0)
        assert control == server.pid
        assert os.getpriority(os.PRIO_PROCESS, control) == min(mine + CONTROL_NICENESS, NICENESS_MAX)
        assert sum(os.getpriority(os.PRIO_PROCESS, other) == mine for other in others) >= RocketnsServer.reactors
