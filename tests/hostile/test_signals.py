"""Signals to a running process: only SIGTERM and SIGINT end it, whatever its peers do."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from interop.harness.wire import eventually, frame, json_header
from rocketns import __version__
from tests.behaviour.calls import put_kv, settings, update_settings
from tests.hostile.conftest import StartServer, assert_nothing_unforeseen
from tests.hostile.witness import MB

STOPS_WITHIN_S = 60.0
HARMLESS = ("SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGXFSZ", "SIGALRM", "SIGVTALRM", "SIGIO", "SIGHUP", "SIGQUIT")


def assert_answers(server: NameServer) -> None:
    with server.connect() as client:
        assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS


def test_a_signal_stops_nothing(shared_server: NameServer) -> None:
    """Connections stay, requests are answered, and SIGTERM still ends it with 0."""
    with shared_server.connect() as client:
        for name in HARMLESS * 2:
            shared_server.process.signal(signal.Signals[name])
            assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS
    assert_answers(shared_server)


def test_sigquit_prints_the_stacks_of_all_threads_and_what_waits(server: NameServer) -> None:
    """To standard output, as a JVM does."""
    with server.connect() as client:
        client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        server.process.signal(signal.SIGQUIT)
        server.process.wait_for(r"bytes in the journal's buffer: 0\n")
    text = server.process.text()
    assert f"Full thread dump rocketns {__version__}, process {server.pid}:\n" in text
    threads = {"MainThread", "log-writer", "signal-dispatcher", "reactor-0", "reactor-1", "tls-handshakes"}
    assert threads <= set(re.findall(r'^"([\w-]+)" nid=\d+$', text, re.M))
    assert re.search(r'^"MainThread" nid=\d+\n(?:  .*\n)*  File ".*__main__\.py", line \d+, in ', text, re.M)
    assert "  connections: 1\n" in text
    assert "  requests in the inbox: 0\n" in text


def test_sighup_takes_what_is_felt_at_once_from_the_file(server: NameServer) -> None:
    """Properties that take effect at the start stay unchanged, and so does everything if the file cannot be read."""
    text = server.config_path.read_text()
    with server.connect() as client:
        assert update_settings(client, "waitSecondsForService=2147483647\n").code == codes.SUCCESS
        server.config_path.write_text(f"{text}enableTopicList=false\nwaitSecondsForService=7\nclusterTest=true\n")
        server.process.signal(signal.SIGHUP)
        eventually(lambda: settings(client)["enableTopicList"] == "false")
        shown = settings(client)
        assert (shown["waitSecondsForService"], shown["clusterTest"]) == ("7", "false")
        server.config_path.write_text("a=\\u12")
        server.process.signal(signal.SIGHUP)
        server.process.wait_for("ERROR MainThread - the configuration is not changed: The configuration file ")
        assert settings(client) == shown


def test_sighup_goes_on_in_a_new_log_file(start_server: StartServer, server_class: type[NameServer]) -> None:
    """As logrotate does it: the file is renamed and the signal sent. After that the old file is not written."""

    class WithFiles(server_class):  # type: ignore[misc, valid-type]
        def command(self) -> list[str]:
            return [*super().command(), "--log-files"]

    home = Path(start_server().home) / "files"
    server = WithFiles(home)
    try:
        file = home / "logs" / "rocketmqlogs" / "namesrv.log"
        eventually(file.exists)
        file.rename(old := file.with_name("namesrv.log.old"))
        server.process.signal(signal.SIGHUP)
        eventually(lambda: file.exists() and "SIGHUP: re-reading the TLS files" in file.read_text())
        size = old.stat().st_size
        assert_answers(server)
        eventually(lambda: "channelActive" in file.read_text())
        assert old.stat().st_size == size
    finally:
        server.stop()


def test_too_few_open_files_stop_the_start_with_a_sentence(server_class: type[NameServer], tmp_path: Path) -> None:
    """With fewer than 16 connections. `test_more_connections_than_open_files` has a few more."""

    class Limited(server_class):  # type: ignore[misc, valid-type]
        def command(self) -> list[str]:
            return ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *super().command()]

    with pytest.raises(ProcessFailed) as failure:
        Limited(tmp_path)
    assert failure.value.status == 255
    assert "rocketns cannot start: `ulimit -n` allows 64 open files, but 64 are needed" in str(failure.value)


LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
SLOW_JSON = b"{'a':[" + b"1," * 100_000 + b"1]}"


@contextmanager
def slow_requests(server: NameServer) -> Iterator[None]:
    """Seconds of work from many connections at once, of which little is done."""
    slow = frame(json_header(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}), SLOW_JSON)
    with ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(40)]
        for client in clients:
            client.send(slow)
        clients[0].receive()
        yield


@contextmanager
def peers_that_do_not_read(server: NameServer) -> Iterator[None]:
    """For each connection an answer of 12 MB waits, more than the sockets hold, and further requests behind it."""
    with server.connect() as client, ExitStack() as stack:
        for number in range(12):
            put_kv(client, "ns", str(number), "v" * MB)
        for _ in range(6):
            peer = stack.enter_context(server.connect())
            peer.send(frame(json_header(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "ns"})) * 32)
            assert peer.socket.recv(1, socket.MSG_PEEK)  # its answer is written, as far as sockets take it
        yield


@contextmanager
def first_tls_hello(server: NameServer) -> Iterator[None]:
    """A thread is making a certificate."""
    with server.connect() as client:
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200))
        yield


Situation = Callable[[NameServer], AbstractContextManager[None]]
TERM, INT = signal.SIGTERM, signal.SIGINT
SITUATIONS = [(slow_requests, TERM), (peers_that_do_not_read, TERM), (first_tls_hello, INT)]


@pytest.mark.parametrize(("situation", "end"), SITUATIONS)
def test_it_stops_cleanly_whatever_peers_do(server: NameServer, situation: Situation, end: signal.Signals) -> None:
    """With exit status 0. The peers stay, so it ends before their requests are done and their answers read."""
    with situation(server):
        server.process.signal(end)
        assert server.process.wait(STOPS_WITHIN_S) == 0
    assert_nothing_unforeseen(server)
