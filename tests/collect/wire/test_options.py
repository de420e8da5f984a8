"""TLS, signed requests, brokers that are asked, and errors of the command line."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from interop.harness.wire import frame, json_header
from rocketns.__main__ import main
from rocketns.collect.arguments import parse
from rocketns.config.journal import JournalConfig
from rocketns.protocol.command import RemotingCommand
from tests.access.vectors import KEY, SECRET
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.client.peers import serving
from tests.collect.wire.collecting import Collecting, addr
from tests.collect.wire.test_hostile import Hostile
from tests.support.certificates import Files, authority
from tests.support.tlsfiles import as_options, tls_properties

POLICY = f"""\
secrets = "secrets"

[modes]
lookup = "enforce"
read = "enforce"
scan = "enforce"
config = "enforce"

[principals.collector]
keys = ["{KEY}"]
may = ["lookup", "read", "scan", "config"]
"""


def test_a_name_server_that_takes_only_tls_is_watched(tmp_path: Path) -> None:
    ca = authority("an authority")
    own = Files.write(tmp_path / "own", ca.issue("a name server"))
    (tmp_path / "ca.pem").write_bytes(ca.certificate_pem())
    server = RocketnsServer(tmp_path / "server", options=as_options(tls_properties(own, mode="enforcing")))
    trust = {"tls.enable": "true", "tls.test.mode.enable": "false", "tls.client.authServer": "true",
             "tls.client.trustCertPath": str(tmp_path / "ca.pem")}  # fmt: skip
    collecting = Collecting(tmp_path / "c", f"a={addr(server)}", *as_options(trust))
    try:
        collecting.until("a", "start")
        assert collecting.stop() == 0
    finally:
        collecting.kill()
        server.kill()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[RocketnsServer]:
    """A name server that answers signed requests only."""
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "secrets").write_text(f"{KEY} {SECRET}\n")
    (tmp_path / "secrets").chmod(0o600)
    server = RocketnsServer(tmp_path / "server", {"rocketns.accessFile": tmp_path / "policy.toml"})
    yield server
    server.kill()


def test_signed_requests_are_answered(guarded: RocketnsServer, tmp_path: Path) -> None:
    """Brokers are not guarded here. The secret is shown nowhere."""
    (tmp_path / "tools.yml").write_text(f"accessKey: {KEY}\nsecretKey: {SECRET}\n")
    names = Names()
    with guarded.connect() as client:
        registered(client, names)
        collecting = Collecting(tmp_path / "c", f"a={addr(guarded)}", "--tools-yml", str(tmp_path / "tools.yml"))
        try:
            collecting.until("a", "start")
            assert collecting.stop() == 0
        finally:
            collecting.kill()
    assert set(collecting.routes("a").topics) == {names.topic("T"), names.topic("U")}
    written = [path.read_bytes() for path in (tmp_path / "c").rglob("*") if path.is_file()]
    assert SECRET.encode() not in b"".join(written)


def test_keys_of_the_environment_sign_too(guarded: RocketnsServer, tmp_path: Path) -> None:
    env = {"ROCKETNS_ACCESS_KEY": KEY, "ROCKETNS_SECRET_KEY": SECRET}
    collecting = Collecting(tmp_path / "c", f"a={addr(guarded)}", env=env)
    try:
        collecting.until("a", "start")
    finally:
        collecting.kill()


def test_a_name_server_that_was_never_read_is_named_at_the_end(guarded: RocketnsServer, tmp_path: Path) -> None:
    """Exit status 1: its requests were refused."""
    collecting = Collecting(tmp_path / "c", f"a={addr(guarded)}", "--for", "6s")
    assert collecting.process.wait() == 1
    assert "a (127.0.0.1" in collecting.process.text()
    assert "was never read whole" in collecting.process.text()
    assert "it refuses request 106 with code 16" in collecting.process.text()


def test_the_time_is_over(tmp_path: Path) -> None:
    server = RocketnsServer(tmp_path / "server")
    try:
        collecting = Collecting(tmp_path / "c", f"a={addr(server)}", "--for", "8s")
        assert collecting.process.wait() == 0
    finally:
        server.kill()
    assert [record["ev"] for record in collecting.records("a", "start", "stop")] == ["start", "stop"]


def test_a_broker_that_vanished_is_asked_whether_it_runs(tmp_path: Path) -> None:
    """Of three one answers, with an error even, one refuses connections, and one says nothing."""
    asked: list[int] = []

    def answer(request: RemotingCommand) -> bytes:
        asked.append(request.code)
        return frame(json_header(1, opaque=request.opaque, flag=1))

    answering, silent = Hostile(serving(answer)), socket.create_server(("127.0.0.1", 0))
    addrs = {"answered": answering.addr, "silent": f"127.0.0.1:{silent.getsockname()[1]}",
             "refused": f"127.0.0.1:{free_port()}"}  # fmt: skip
    server = RocketnsServer(tmp_path / "server")
    try:
        with server.connect() as client:
            for number, own in enumerate(addrs.values()):
                names = Names()
                names.addr = lambda _host=1, own=own: own  # type: ignore[method-assign, misc]
                registered(client, names, [f"T{number}", f"U{number}"])
            collecting = Collecting(tmp_path / "c", f"a={addr(server)}", "--brokers")
            collecting.until("a", "start")
        collecting.until("a", "down", 3)
        assert collecting.stop() == 0
        downs = collecting.records("a", "down")
        assert {one["asked"]: one["addr"] for one in downs} == addrs
        assert asked == [28]
    finally:
        collecting.kill()
        server.kill()
        silent.close()
        answering.close()


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit status, and standard error."""
    status = main(["collect", *words])
    return status, capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--name-servers"),
        (["--name-servers", "a:1,b"], "b: HOST:PORT or NAME=HOST:PORT expected"),
        (["--name-servers", "a:1", "--interval", "0s"], "a time from 1 s to 5 min expected"),
        (["--name-servers", "a:1", "--requests-per-second", "1"], "a number from 2 to 2000 expected"),
        (["--name-servers", "a:1", "--keep-bytes", "1"], "1: a number from 8388608 to"),
        (["--name-servers", "a:1", "--for", "soon"], "soon: a time from"),
        (["--name-servers", "a:1", "--tools-yml", "none.yml"], "none.yml cannot be read"),
        (["--name-servers", "a:1", *(word for n in range(20) for word in ("--kv", f"K{n}"))], "at most 14 namespaces"),
        (["--name-servers", "a:1", "-Dx"], "-Dx: name=value expected"),
    ],
)
def test_a_wrong_option_is_named(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, error = printed(capsys, "--journal", str(tmp_path / "j"), *words)
    assert status == 2
    assert said in error


def test_what_is_kept_of_a_journal_has_the_open_file_in_it() -> None:
    words = ["--name-servers", "a:1", "--journal", "j"]
    config = parse([*words, "--keep-bytes", "8388608", "--keep-days", "3"], {}).journal_config
    assert config.journal_rotation_bytes == 1024**2
    assert config.journal_retention_bytes + config.journal_rotation_bytes == 8 * 1024**2
    assert config.journal_retention_days == 3
    by_default = parse(words, {}).journal_config
    assert by_default.journal_rotation_bytes == JournalConfig().journal_rotation_bytes


def test_a_folder_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    status, error = printed(capsys, "--name-servers", "a:1", "--journal", str(tmp_path / "file"))
    assert status == 2
    assert f"the journal's folder {tmp_path / 'file'} cannot be written: " in error


def test_a_folder_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, error = printed(capsys, "--name-servers", "a:1", "--journal", "/proc/self/j")
    assert status == 2
    assert "the journal's folder /proc/self/j cannot be written: " in error


def test_the_journal_of_another_process_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = RocketnsServer(tmp_path / "server")
    collecting = Collecting(tmp_path / "c", f"a={addr(server)}")
    try:
        collecting.until("a", "start")
        status, error = printed(capsys, "--name-servers", f"a={addr(server)}", "--journal", str(collecting.journal))
        assert status == 2
        assert "another process writes the journal of a" in error
    finally:
        collecting.kill()
        server.kill()


def test_the_help_has_examples_and_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "rocketns collect --name-servers ns-1:9876,ns-2:9876" in shown
    assert "Exit status:" in shown
