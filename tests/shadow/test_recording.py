"""Recorded frames: without secrets and names, in a file that nobody should trust, and played again."""

from __future__ import annotations

import base64
import json
import socket
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.__main__ import main
from rocketns.protocol.command import RemotingCommand, decode
from rocketns.shadow.pairs import Outcome, Pair
from rocketns.shadow.recording import read_recording, without_secrets, write_recording
from rocketns.shadow.replay import NoAnswerError, Player, ReplayConnection, Result, changes
from rocketns.shadow.tree import UnreadableError
from rocketns.tools.decode.reading import FormError

WITHIN_S = 60.0
ANSWERED = frame(json_header(0, flag=1))


def request_of(code: int, ext: dict[str, Any] | None = None, body: bytes = b"", *, binary: bool = False) -> bytes:
    """A request in one of the two header forms."""
    if binary:
        return frame(binary_header(code, ext), body, ROCKETMQ)
    return frame(json_header(code, ext), body)


def answer_of(body: bytes = b"", ext: dict[str, Any] | None = None, *, code: int = 0, **header: Any) -> bytes:
    """An answer with a JSON header."""
    return frame(json_header(code, ext, flag=1, **header), body)


def pair_of(asked: bytes, upstream: bytes | None = ANSWERED, own: bytes | None = None, connection: int = 1) -> Pair:
    """A pair as a relay sees it."""
    return Pair(connection, "10.0.0.7:40000", 1_700_000_000_000, asked, upstream, own, 1.0, None)


SIGNED = {"AccessKey": "ak", "OnsChannel": "ALIYUN", "Signature": "c2ln", "SecurityToken": "st", "topic": "T"}
BOTH_FORMS = pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])


@BOTH_FORMS
def test_a_signed_request_is_recorded_without_what_signed_it(binary: bool) -> None:
    clean = without_secrets(pair_of(request_of(codes.GET_ROUTEINFO_BY_TOPIC, SIGNED, binary=binary))).request
    assert clean == request_of(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}, binary=binary)


@pytest.mark.parametrize("key", [b'"AccessKey"', b'"accesskey"', b'"\\u0041ccessKey"'])
def test_the_name_of_a_secret_field_may_be_written_in_any_way(key: bytes) -> None:
    sent = frame(b'{"code":105,"extFields":{' + key + b':"ak","topic":"T"}}')
    assert without_secrets(pair_of(sent)).request == frame(b'{"code":105,"extFields":{"topic":"T"}}')


def test_passwords_of_a_changed_configuration_are_left_out() -> None:
    body = b"tls.server.keyPassword=secret\nlistenPort=9876\nkey\\u0050assword = s1\\\n  s2\n"
    clean = without_secrets(pair_of(request_of(codes.UPDATE_NAMESRV_CONFIG, None, body))).request
    assert decode(clean).body == b"listenPort=9876\n"


def test_passwords_of_a_shown_configuration_are_left_out_of_both_answers() -> None:
    shown = answer_of(b"listenPort=9876\ntls.client.keyPassword=secret\n")
    clean = without_secrets(pair_of(request_of(codes.GET_NAMESRV_CONFIG), shown, shown))
    assert clean.upstream == clean.own == answer_of(b"listenPort=9876\n")


@BOTH_FORMS
def test_a_kv_item_whose_key_is_a_password_is_recorded_without_its_value(binary: bool) -> None:
    item = {"namespace": "N", "key": "dbPassword", "value": "secret"}
    clean = without_secrets(pair_of(request_of(codes.PUT_KV_CONFIG, item, binary=binary)))
    assert clean.request == request_of(codes.PUT_KV_CONFIG, {"namespace": "N", "key": "dbPassword"}, binary=binary)


def test_the_answer_with_that_value_is_recorded_without_it() -> None:
    asked = request_of(codes.GET_KV_CONFIG, {"namespace": "N", "key": "dbPassword"})
    assert without_secrets(pair_of(asked, answer_of(ext={"value": "secret"}))).upstream == answer_of(ext={})


def test_passwords_of_a_listed_namespace_are_left_out() -> None:
    listed = answer_of(b'{"table":{"dbPassword":"secret","TopicO":"broker-a:4"}}')
    clean = without_secrets(pair_of(request_of(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "N"}), listed))
    assert clean.upstream == answer_of(b'{"table":{"TopicO":"broker-a:4"}}')


@given(st.binary(max_size=60))
def test_any_header_is_refused_or_left_without_secrets(rest: bytes) -> None:
    sent = frame(json_header(105, SIGNED)[:-1] + rest)
    try:
        clean = without_secrets(pair_of(sent)).request
    except UnreadableError:
        return
    fields = decode(clean).ext_fields or {}
    assert not {"AccessKey", "Signature", "SecurityToken", "OnsChannel"} & fields.keys()


LOOKUP = request_of(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "Orders"})
HEAD = b'{"format":"rocketns-frames","version":1}\n'


def line(**changed: object) -> bytes:
    shown = base64.b64encode(LOOKUP).decode()
    fields = {"at_ms": 1, "connection": 1, "peer": "p", "request": shown, "upstream": None, "own": None}
    return json.dumps(fields | changed).encode() + b"\n"


def test_what_was_recorded_is_read_again(tmp_path: Path) -> None:
    sent = [pair_of(LOOKUP), pair_of(LOOKUP, None, answer_of(b"{}"), connection=2)]
    assert write_recording(tmp_path / "a", [(sent[0], Outcome.EQUAL), (sent[1], None), (pair_of(b"x"), None)]) == 2
    assert list(read_recording(tmp_path / "a")) == [one._replace(upstream_ms=None) for one in sent]


def test_a_recording_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    write_recording(tmp_path / "a", [])
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_that_is_there_is_not_written(tmp_path: Path, kind: str) -> None:
    (tmp_path / "kept").write_text("kept")
    path = tmp_path / kind
    path.write_text("kept") if kind == "file" else path.symlink_to(tmp_path / "kept")
    with pytest.raises(FileExistsError):
        write_recording(path, [])
    assert path.read_text() == "kept"


@pytest.mark.parametrize(
    "bad",
    [
        b"{\n", line(request="?"), line(connection=True), line(at_ms=-1), line(upstream=[1]), line(peer=7),
        line(request=base64.b64encode(LOOKUP + b"x").decode()),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a").write_bytes(HEAD + line() + bad + line())
    with pytest.raises(FormError, match="line 3"):
        list(read_recording(tmp_path / "a"))


CHANGES = [
    codes.REGISTER_BROKER, codes.UNREGISTER_BROKER, codes.QUERY_DATA_VERSION, codes.BROKER_HEARTBEAT,
    codes.PUT_KV_CONFIG, codes.DELETE_KV_CONFIG, codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER,
    codes.DELETE_TOPIC_IN_NAMESRV, codes.REGISTER_TOPIC_IN_NAMESRV, codes.UPDATE_NAMESRV_CONFIG,
]  # fmt: skip


@pytest.mark.parametrize("code", CHANGES)
def test_a_request_that_changes_something_is_replayed_only_with_all(code: int) -> None:
    assert changes(code)
    assert (play(Server(), [pair_of(request_of(code))]).unsent, play(Server(), [pair_of(LOOKUP)]).sent) == (1, 1)


def test_nobody_knows_what_an_unknown_request_changes() -> None:
    assert changes(4242)
    assert not changes(codes.GET_KV_CONFIG)


ANSWER = answer_of(b"{}", opaque=1)
NOTIFICATION = frame(json_header(905, opaque=1))


def asked(sent: bytes) -> bytes | None:
    """What `ask` gives where the server sends this, and closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = ReplayConnection("127.0.0.1", server.getsockname()[1], None, WITHIN_S)
        with server.accept()[0] as other:
            other.sendall(sent)
            other.shutdown(socket.SHUT_WR)
            try:
                return one.ask(LOOKUP, decode(LOOKUP))
            finally:
                one.close()


def test_frames_that_are_no_answer_are_passed_over() -> None:
    assert asked(NOTIFICATION + answer_of(b"other", opaque=2) + ANSWER) == ANSWER
    with pytest.raises(NoAnswerError):
        asked(NOTIFICATION + ANSWER[:-1])


NO_TOPIC = answer_of(code=17)


def lookup(topic: str, upstream: bytes | None = ANSWERED, connection: int = 1) -> Pair:
    return pair_of(request_of(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}), upstream, connection=connection)


class Server:
    """``answers`` by topic, one after the other; None closes. ``heard``: number of the connection, and topic."""

    def __init__(self, **answers: list[bytes | None]) -> None:
        self.answers = answers
        self.opened = self.closed = 0
        self.heard: list[tuple[int, str | None]] = []

    def open(self) -> Any:
        self.opened += 1
        return _Connection(self, self.opened)


class _Connection:
    def __init__(self, server: Server, number: int) -> None:
        self._server, self._number = server, number

    def ask(self, frame: bytes, _command: RemotingCommand) -> bytes:
        topic = decode(frame).ext("topic")
        self._server.heard.append((self._number, topic))
        answers = self._server.answers.get(topic or "", [ANSWERED])
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if found is None:
            raise NoAnswerError("closed")
        return found

    def close(self) -> None:
        self._server.closed += 1


def play(server: Server, pairs: Iterable[Pair], *, with_changes: bool = False) -> Result:
    return Player(server.open, with_changes=with_changes, settle=lambda: None).play(pairs)


def test_a_read_that_differs_is_asked_again() -> None:
    server = Server(T=[NO_TOPIC, ANSWERED], U=[NO_TOPIC, NO_TOPIC])
    result = play(server, [lookup("T"), lookup("U", connection=2)])
    assert [topic for _, topic in server.heard] == ["T", "T", "U", "U"]
    assert (result.of(Outcome.SETTLED), result.of(Outcome.DIFFERENT), server.closed) == (1, 1, 2)


def test_a_connection_that_the_server_closed_is_opened_again() -> None:
    server = Server(T=[None])
    result = play(server, [lookup("T"), lookup("U")])
    assert (result.of(Outcome.MISSING), result.of(Outcome.EQUAL), server.heard) == (1, 1, [(1, "T"), (2, "U")])


def test_what_changes_something_is_never_sent_twice() -> None:
    server = Server(T=[NO_TOPIC])
    delete = pair_of(request_of(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "T"}))
    result = play(server, [delete], with_changes=True)
    assert (len(server.heard), result.of(Outcome.DIFFERENT)) == (1, 1)


BODY = register_body([topic_config("Orders"), topic_config("Pay")])
REGISTRATION = frame(json_header(codes.REGISTER_BROKER, register_ext(body=BODY)), BODY)


@pytest.fixture
def server(server_class: type[NameServer], tmp_path: Path) -> object:
    with server_class(tmp_path / "ns") as started:
        yield started


def recording(path: Path, *pairs: Pair) -> str:
    write_recording(path, ((one, None) for one in pairs))
    return str(path)


def answered_by(server: NameServer, *requests: bytes) -> list[Pair]:
    """These requests with the server's own answers."""
    with server.connect() as client:
        found = []
        for sent in requests:
            client.send(sent)
            found.append(pair_of(sent, client.receive_frame()))
        return found


def test_a_server_that_answers_as_recorded_is_the_same(
    server: NameServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recording(tmp_path / "a", *answered_by(server, REGISTRATION, LOOKUP))
    server.restart()
    assert main(["replay", path, "--to", f"127.0.0.1:{server.port}", "--all"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"2 requests were sent to 127.0.0.1:{server.port}, and 2 answers compared."
    assert printed[-1].split() == ["REGISTER_BROKER", "1", "0", "0", "0", "0", "0"]


def test_a_replay_that_compared_nothing_is_no_success(
    server: NameServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recording(tmp_path / "a", pair_of(REGISTRATION))
    assert main(["replay", path, "--to", f"127.0.0.1:{server.port}"]) == 2
    assert "nothing was compared" in capsys.readouterr().err
