"""The command: what it prints, and its exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import frame, json_header
from rocketns.__main__ import main
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.file import Recorder
from tests.shadow.recording.pairs import answer, pair

BODY = register_body([topic_config("Orders"), topic_config("Pay")])
LOOKUP = frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "Orders"}))
REGISTRATION = frame(json_header(codes.REGISTER_BROKER, register_ext(body=BODY)), BODY)


@pytest.fixture
def server(server_class: type[NameServer], tmp_path: Path) -> object:
    started = server_class(tmp_path / "ns")
    yield started
    started.stop()


def recording(path: Path, *pairs: Pair) -> str:
    with Recorder(path) as recorder:
        for one in pairs:
            recorder.record(one)
    return str(path)


def asked(server: NameServer, *requests: bytes) -> list[Pair]:
    """These requests with the server's own answers."""
    with server.connect() as client:
        found = []
        for sent in requests:
            client.send(sent)
            found.append(pair(sent, client.receive_frame()))
        return found


def test_a_server_that_answers_as_recorded_is_the_same(
    server: NameServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recording(tmp_path / "a", *asked(server, REGISTRATION, LOOKUP))
    server.restart()
    assert main(["replay", path, "--to", f"127.0.0.1:{server.port}", "--all"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"2 requests were sent to 127.0.0.1:{server.port}, and 2 answers compared."
    assert printed[-1].split() == ["REGISTER_BROKER", "1", "0", "0", "0", "0", "0"]


def test_a_planted_difference_is_found_and_shown(
    server: NameServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registered, found = asked(server, REGISTRATION, LOOKUP)
    planted = found._replace(upstream=(found.upstream or b"").replace(b'"perm":6', b'"perm":4'))
    path = recording(tmp_path / "a", registered, planted)
    server.restart()
    assert main(["replay", path, "--to", f"127.0.0.1:{server.port}", "--all", "--settle", "0"]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "pair 2, request 105 (GET_ROUTEINFO_BY_TOPIC) of 10.0.0.7:40000: different",
        "    body.queueDatas[broker-a].perm: recorded 4, now 6",
    ]


def test_by_default_nothing_is_changed(server: NameServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recording(tmp_path / "a", *asked(server, REGISTRATION, LOOKUP))
    server.restart()
    assert main(["replay", path, "--to", f"127.0.0.1:{server.port}", "--settle", "0", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["sent"], said["unsent"]) == (1, {"changes something": 1})
    assert said["differing"][0]["differences"][0] == {"path": "header.code", "recorded": "0", "now": "17"}


def test_a_replay_that_compared_nothing_is_no_success(
    server: NameServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recording(tmp_path / "a", pair(REGISTRATION))
    assert main(["replay", path, "--to", f"127.0.0.1:{server.port}"]) == 2
    assert "nothing was compared" in capsys.readouterr().err


def test_a_server_that_is_not_there_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recording(tmp_path / "a", pair(LOOKUP, answer()))
    addr = f"127.0.0.1:{free_port()}"
    assert main(["replay", path, "--to", addr]) == 2
    assert capsys.readouterr().err.startswith(f"rocketns replay: {addr} cannot be reached: ")


@pytest.mark.parametrize("content", [None, b"no recording\n"], ids=["absent", "wrong"])
def test_a_file_that_is_no_recording_is_status_2(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "a").write_bytes(content)
    assert main(["replay", str(tmp_path / "a"), "--to", "127.0.0.1:9876"]) == 2
    assert capsys.readouterr().err.startswith("rocketns replay: ")


@pytest.mark.parametrize(
    "words",
    [["--to", "nowhere"], ["--to", "a:1", "--only", "lookup"], ["--to", "a:1", "--rate", "-1"], [],
     ["--to", "a:1", "--connections", "0"], ["--to", "a:1", "--all", "--reads-only"],
     ["--to", "a:1", "--rate", "5", "--as-recorded"]],
)  # fmt: skip
def test_a_wrong_option_is_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "file", *words]) == 2
    assert "--help" in capsys.readouterr().err


def test_help_says_what_all_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--help"]) == 0
    assert "With --all brokers of the recording are registered" in capsys.readouterr().out
