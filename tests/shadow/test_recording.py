"""Recorded frames: without secrets and names, in a file that nobody should trust, and played again."""

from __future__ import annotations

import asyncio
import base64
import json
import stat
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness import codes
from interop.harness.payloads import compressed_body, register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.__main__ import main
from rocketns.protocol.body.register_broker_body import decode_register_broker_body
from rocketns.protocol.command import decode
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.file import LATE_MS_MAX, Recorder, Recording, in_time
from rocketns.shadow.recording.hashed_pairs import hashed
from rocketns.shadow.recording.hashing import Names
from rocketns.shadow.recording.lines import Recorded, RecordingError
from rocketns.shadow.recording.secrets import without_secrets
from rocketns.shadow.recording.tree import UnreadableError
from rocketns.shadow.replaying.choosing import Choice, Pace, Unsent
from rocketns.shadow.replaying.connection import Connection, NoAnswerError
from rocketns.shadow.replaying.playing import Player
from rocketns.shadow.replaying.result import Result

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


NAMES = Names(b"key")
LOOKUP = request_of(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "Orders"})
TOPIC, BROKER, CLUSTER = (NAMES.name(name) for name in ("Orders", "broker-a", "C1"))
ADDR = NAMES.text("10.0.0.1:10911")
SECRET_WORDS = (b"Orders", b"broker-a", b"10.0.0", b"C1", b"10.1.2")


def hashed_pair(asked: bytes, upstream: bytes = ANSWERED) -> Pair:
    found = hashed(pair_of(asked, upstream), NAMES)
    shown = b"".join(filter(None, (found.request, found.upstream, found.own))) + found.peer.encode()
    assert not any(word in shown for word in SECRET_WORDS)
    return found


def fields(frame: bytes) -> dict[str, Any]:
    return decode(frame).ext_fields or {}


def body(frame: bytes | None) -> Any:
    assert frame is not None
    return json.loads(decode(frame).body or b"")


@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
def test_a_topic_has_one_hash_in_either_form_of_header(binary: bool) -> None:
    ext = {"topic": "Orders", "acceptStandardJsonOnly": "true"}
    asked = request_of(codes.GET_ROUTEINFO_BY_TOPIC, ext, binary=binary)
    assert fields(hashed_pair(asked).request) == {"topic": TOPIC, "acceptStandardJsonOnly": "true"}


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_a_registration_registers_the_hashes_and_its_checksum_is_right(compressed: bool) -> None:
    topics = [topic_config("Orders"), topic_config("TBW102")]
    sent = compressed_body(topics, filters=("10.1.2.3:1",)) if compressed else register_body(topics)
    ext = register_ext(body=sent, compressed=str(compressed).lower())
    found = decode(hashed_pair(request_of(codes.REGISTER_BROKER, ext, sent)).request)
    assert found.body is not None
    assert found.ext("brokerAddr") == ADDR
    assert found.ext("bodyCrc32") == str(zlib.crc32(found.body) & 0x7FFFFFFF)
    registered = decode_register_broker_body(found.body, compressed=compressed, version=513, now_ms=0)
    assert registered.topic_config_wrapper is not None
    assert sorted(registered.topic_config_wrapper.topic_config_table or ()) == sorted([TOPIC, "TBW102"])


HEAD = b'{"format":"rocketns-frames","version":1,"names":"plain"}\n'


def recorded(path: Path) -> list[Recorded]:
    return [found for _, found in Recording(path).pairs()]


def line(**changed: object) -> bytes:
    shown = base64.b64encode(LOOKUP).decode()
    fields = {"at_ms": 1, "connection": 1, "peer": "p", "request": shown, "upstream": None, "own": None}
    return json.dumps(fields | changed).encode() + b"\n"


def test_what_was_recorded_is_read_again(tmp_path: Path) -> None:
    sent = [pair_of(LOOKUP), pair_of(LOOKUP, None, answer_of(b"{}"), connection=2)]
    with Recorder(tmp_path / "a") as recorder:
        recorder.record(sent[0], Outcome.EQUAL)
        recorder.record(sent[1])
    assert recorded(tmp_path / "a") == [Recorded(sent[0], Outcome.EQUAL), Recorded(sent[1])]


def test_a_recording_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    Recorder(tmp_path / "a").close()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_file_that_is_there_is_not_written(tmp_path: Path, kind: str) -> None:
    (tmp_path / "kept").write_text("kept")
    path = tmp_path / kind
    path.write_text("kept") if kind == "file" else path.symlink_to(tmp_path / "kept")
    with pytest.raises(FileExistsError):
        Recorder(path)
    assert path.read_text() == "kept"


def test_a_recording_ends_at_its_bytes(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a", bytes_max=2_000) as recorder:
        for _ in range(50):
            recorder.record(pair_of(LOOKUP))
    assert (tmp_path / "a").stat().st_size <= 2_000
    assert recorder.recorded + recorder.without_room == 50
    assert recorder.without_room > 0


@pytest.mark.parametrize(
    "bad",
    [
        b"{\n", line(request="?"), line(connection=True), line(at_ms=-1), line(upstream=[1]), line(outcome="good"),
        line(request=base64.b64encode(LOOKUP + b"x").decode()),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a").write_bytes(HEAD + line() + bad + line())
    with pytest.raises(RecordingError, match="line 3"):
        recorded(tmp_path / "a")


ONE = pair_of(request_of(codes.GET_KV_CONFIG))


def times(*at_ms: int) -> list[int]:
    """In which order pairs of these times, written in this order, come out."""
    written = [(number, Recorded(ONE._replace(at_ms=one, upstream_ms=None))) for number, one in enumerate(at_ms)]
    return [number for number, _ in in_time(written)]


@given(st.lists(st.integers(0, LATE_MS_MAX), max_size=30))
def test_whatever_is_late_within_the_limit_is_sorted(at_ms: list[int]) -> None:
    assert times(*at_ms) == [number for number, _ in sorted(enumerate(at_ms), key=lambda item: item[1])]


CHANGES = [
    codes.REGISTER_BROKER, codes.UNREGISTER_BROKER, codes.QUERY_DATA_VERSION, codes.BROKER_HEARTBEAT,
    codes.PUT_KV_CONFIG, codes.DELETE_KV_CONFIG, codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER,
    codes.DELETE_TOPIC_IN_NAMESRV, codes.REGISTER_TOPIC_IN_NAMESRV, codes.UPDATE_NAMESRV_CONFIG,
]  # fmt: skip


@pytest.mark.parametrize("code", CHANGES)
def test_a_request_that_changes_something_is_replayed_only_with_all(code: int) -> None:
    assert Choice().why_not(code) is Unsent.CHANGES
    assert Choice(frozenset({code})).why_not(code) is Unsent.CHANGES
    assert Choice(with_changes=True).why_not(code) is None


def test_nobody_knows_what_an_unknown_request_changes() -> None:
    assert Choice().why_not(4242) is Unsent.UNKNOWN
    assert Choice().why_not(codes.GET_KV_CONFIG) is None


ANSWER = answer_of(b"{}", opaque=1)
NOTIFICATION = frame(json_header(905, opaque=1))


def asked(sent: bytes) -> bytes:
    """What `ask` gives where the server sends this, and closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(LOOKUP))
        writer.write(sent)
        writer.close()

    async def ask() -> bytes:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            one = await Connection.open("127.0.0.1", server.sockets[0].getsockname()[1], None, WITHIN_S)
            try:
                return await one.ask(LOOKUP, 1)
            finally:
                await one.close()

    return asyncio.run(ask())


def test_frames_that_are_no_answer_are_passed_over() -> None:
    assert asked(NOTIFICATION + answer_of(b"other", opaque=2) + ANSWER) == ANSWER


NO_TOPIC = answer_of(code=17)


def lookup(topic: str, upstream: bytes | None = ANSWERED, connection: int = 1) -> Pair:
    return pair_of(request_of(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}), upstream, connection=connection)


class Server:
    """``answers`` by topic, one after the other; None closes. ``heard``: number of the connection, and topic."""

    def __init__(self, **answers: list[bytes | None]) -> None:
        self.answers = answers
        self.opened = self.closed = 0
        self.heard: list[tuple[int, str | None]] = []

    async def open(self) -> Any:
        self.opened += 1
        return _Connection(self, self.opened)


class _Connection:
    def __init__(self, server: Server, number: int) -> None:
        self._server, self._number = server, number

    async def ask(self, frame: bytes, _opaque: int | None) -> bytes:
        topic = decode(frame).ext("topic")
        self._server.heard.append((self._number, topic))
        await asyncio.sleep(0)
        answers = self._server.answers.get(topic or "", [ANSWERED])
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        if found is None:
            raise NoAnswerError("closed")
        return found

    async def tell(self, frame: bytes) -> None:
        self._server.heard.append((self._number, decode(frame).ext("topic")))

    async def close(self) -> None:
        self._server.closed += 1


def play(server: Server, pairs: Iterable[Pair], choice: Choice | None = None, settle_s: float = 0.0) -> Result:
    async def at_once(_: float) -> None:
        """Nobody waits."""

    async def run() -> Result:
        player = Player(server.open, choice or Choice(), Pace(lambda: 0.0, at_once), at_once, settle_s=settle_s)
        return await player.play((0, Recorded(one)) for one in pairs)

    return asyncio.run(run())


def test_what_changes_something_is_never_sent_twice() -> None:
    server = Server(T=[NO_TOPIC])
    delete = pair_of(request_of(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "T"}))
    result = play(server, [delete], Choice(with_changes=True), settle_s=1.0)
    assert (len(server.heard), result.of(Outcome.DIFFERENT)) == (1, 1)


BODY = register_body([topic_config("Orders"), topic_config("Pay")])
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
