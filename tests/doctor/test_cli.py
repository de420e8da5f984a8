"""`rocketns doctor` as a program, against real name servers of rocketns."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from interop.harness.servers import NameServer, RocketnsServer
from rocketns.__main__ import main
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered

NAMES = Names()
REFUSING = "127.0.0.1:1"
WITHIN_S = 60.0
PATIENT = ("--timeout", "30")  # a busy machine answers late


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """It has a broker, whose address refuses at once, with the topic Orders."""
    with ExitStack() as stack:
        one = RocketnsServer(tmp_path_factory.mktemp("one"))
        stack.callback(one.kill)
        topics = ["Orders", "SELF_TEST_TOPIC", "TBW102"]
        registered(stack.enter_context(one.connect()), NAMES, topics, brokerAddr=REFUSING)
        yield one


def examined(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["doctor", *words, *PATIENT])
    return status, capsys.readouterr().out


def test_it_names_the_topic_meant_and_the_name_server_is_rocketns(
    server: NameServer, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown = examined(capsys, f"127.0.0.1:{server.port}", "--topic", "orders", "--json")
    report = json.loads(shown)
    assert (status, report["findings"][0]["check"], report["nameServers"][0]["kind"]) == (1, "misspelt", "rocketns")


def test_a_list_of_a_client_is_read(server: NameServer, capsys: pytest.CaptureFixture[str]) -> None:
    _, shown = examined(capsys, f"127.0.0.1:{server.port};{REFUSING}", "--json")
    assert [one["outcome"] for one in json.loads(shown)["nameServers"]] == ["answered", "refused"]


@pytest.mark.parametrize(
    ("mode", "options", "outcome"),
    [("enforcing", (), "speaks TLS"), ("disabled", ("-Dtls.enable=true",), "speaks plain")],
)
def test_tls_where_plain_is_spoken_and_the_other_way_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str, options: tuple[str, ...], outcome: str
) -> None:
    one = RocketnsServer(tmp_path, options=[f"-Dtls.server.mode={mode}"])
    try:
        status, shown = examined(capsys, f"127.0.0.1:{one.port}", *options, "--json")
    finally:
        one.kill()
    report = json.loads(shown)
    assert (status, report["nameServers"][0]["outcome"], report["findings"][0]["check"]) == (1, outcome, "tls")


def test_a_wrong_list_is_refused_with_the_item(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "a:b"]) == 2
    assert "a:b: HOST:PORT expected" in capsys.readouterr().err


def test_checks_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--list-checks"]) == 0
    assert "topic-missing" in capsys.readouterr().out
    assert main(["doctor", "--explain", "few-queues"]) == 0
    assert "first message" in capsys.readouterr().out
    assert main(["doctor", "--explain", "nothing"]) == 2
    assert "few-queues" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_asking(number: signal.Signals, status: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(WITHIN_S)
        doctor = started(f"127.0.0.1:{silent.getsockname()[1]}", stderr=subprocess.DEVNULL)
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1)  # it asked, so it has its signal handlers
            doctor.send_signal(number)
            assert (doctor.wait(WITHIN_S), doctor.communicate()[0]) == (status, b"")


def test_ctrl_c_ends_the_watching_and_the_report_is_printed(server: NameServer) -> None:
    """Progress on a terminal says when it watches."""
    reading, writing = pty.openpty()
    doctor = started(f"127.0.0.1:{server.port}", "--watch", "600", "--json", stderr=writing)
    shown = b""
    while b"looking again" not in shown:
        assert select.select([reading], [], [], WITHIN_S)[0], shown
        shown += os.read(reading, 1024)
    doctor.send_signal(signal.SIGINT)
    report = json.loads(doctor.communicate(timeout=WITHIN_S)[0])
    os.close(reading)
    os.close(writing)
    assert report["nameServers"][0]["outcome"] == "answered"


def started(*words: str, stderr: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rocketns", "doctor", *words, *PATIENT]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr)


def output_of(*words: str, stdout: int | IO[str], **environment: str) -> tuple[int, str]:
    """Exit status and standard error."""
    command = [sys.executable, "-m", "rocketns", "doctor", *words, *PATIENT]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False,
                          env=os.environ | environment, timeout=WITHIN_S)  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", [(REFUSING,), (REFUSING, "--json"), ("--list-checks",)])
def test_output_that_cannot_be_written_is_no_finding(words: tuple[str, ...]) -> None:
    """Exit status 1 would say that something is wrong with the fleet."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        status, said = output_of(*words, stdout=full)
    assert (status, len(said.splitlines())) == (2, 1)
    assert "No space left" in said


def test_output_that_is_closed_is_no_finding() -> None:
    command = f"exec {sys.executable} -m rocketns doctor {REFUSING} >&-"
    done = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, text=True, check=False, timeout=WITHIN_S)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_characters_that_the_encoding_of_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("w", encoding="utf-8") as out:
        status, said = output_of(REFUSING, "--language", "zh", stdout=out, PYTHONIOENCODING="ascii")
    assert (status, said) == (1, "")
    assert path.read_text("ascii").startswith("\\u")
    assert REFUSING in path.read_text("ascii")


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    one = RocketnsServer(tmp_path, options=["-Dtls.server.mode=enforcing"])
    try:
        status = main(["doctor", f"127.0.0.1:{one.port}", "-Dtls.enable=true", "-Dtls.client.authServer=true",
                       "-Dtls.test.mode.enable=false",
                       f"-Dtls.client.trustCertPath={tmp_path}/nothing", *PATIENT])  # fmt: skip
    finally:
        one.kill()
    assert status == 2
    assert "nothing" in capfd.readouterr().err
