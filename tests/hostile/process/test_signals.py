"""Signals to a running process: only SIGTERM and SIGINT end it."""

from __future__ import annotations

import re
import resource
import signal
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from interop.harness import codes
from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from rocketns import __version__
from tests.behaviour.calls import put_kv, settings, update_settings
from tests.hostile.conftest import StartServer

HARMLESS = ("SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGXFSZ", "SIGALRM", "SIGVTALRM", "SIGIO", "SIGHUP", "SIGQUIT")


def assert_answers(server: NameServer) -> None:
    with server.connect() as client:
        assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS


@pytest.mark.parametrize("name", HARMLESS)
def test_a_signal_stops_nothing(shared_server: NameServer, name: str) -> None:
    """Connections stay, requests are answered, and SIGTERM still ends it with 0."""
    with shared_server.connect() as client:
        for _ in range(3):
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
    threads = {"MainThread", "log-writer", "signal-dispatcher"}
    threads |= {"reactor-0", "reactor-1"} if server.mode == "reactors" else set()
    assert threads <= set(re.findall(r'^"([\w-]+)" nid=\d+$', text, re.M))
    assert re.search(r'^"MainThread" nid=\d+\n(?:  .*\n)*  File ".*__main__\.py", line \d+, in ', text, re.M)
    kind = "reactors, and those handed over" if server.mode == "reactors" else "asyncio loop"
    assert f"  connections of the {kind}: 1\n" in text
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


def test_a_file_beyond_the_limit_on_sizes_ends_nothing(server: NameServer) -> None:
    """The kernel sends SIGXFSZ when `ulimit -f` is exceeded: the write fails, and the log says so."""
    psutil.Process(server.pid).rlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    with server.connect() as client:
        client.request(codes.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v" * (2 << 20)})
        assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS
    assert_answers(server)


def test_too_few_open_files_stop_the_start_with_a_sentence(server_class: type[NameServer], tmp_path: Path) -> None:
    """The start fails below 16 connections. From 16 on the log says how many there may be."""
    with pytest.raises(ProcessFailed) as failure:
        with_open_files(server_class, 64)(tmp_path / "64")
    assert failure.value.status == 255
    assert "rocketns cannot start: `ulimit -n` allows 64 open files, but 64 are needed" in str(failure.value)
    server = with_open_files(server_class, 80)(tmp_path / "80")
    try:
        with ExitStack() as stack:
            clients = [stack.enter_context(server.connect()) for _ in range(16)]
            for client in clients:
                assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS
            put_kv(clients[0], "n", "k", "v")
    finally:
        server.stop()
    assert "WARN MainThread - at most 16 connections: `ulimit -n` allows 80 open files" in server.process.text()


def with_open_files(kind: type[NameServer], most: int) -> type[NameServer]:
    class Limited(kind):  # type: ignore[misc, valid-type]
        def command(self) -> list[str]:
            return ["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", *super().command()]

    return Limited
