"""A request asked again is the same but for its opaque, in both encodings; what signs it is never shown."""

from __future__ import annotations

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.protocol.command import decode
from rocketns.shadow.comparing.cases import asked
from rocketns.shadow.judge.questions import client_of, may_be_asked_again, question_of, text_of, with_opaque
from tests.shadow.frames import request

FIELDS = {"topic": "T", "Signature": "s3cret", "AccessKey": "key"}
FORMS = (
    frame(json_header(105, FIELDS, opaque=7), b"body"),
    frame(binary_header(105, FIELDS, opaque=7), b"body", ROCKETMQ),
)


def test_only_the_opaque_changes_in_both_encodings() -> None:
    for one in FORMS:
        before, after = decode(one), decode(with_opaque(one, 123_456))
        assert after.opaque == 123_456
        before.opaque = after.opaque
        assert after == before


def test_requests_that_differ_only_in_their_opaque_are_one_question() -> None:
    for one in FORMS:
        assert question_of(with_opaque(one, 9)) == question_of(one)
    assert question_of(FORMS[0]) != question_of(FORMS[1])
    assert question_of(request(ext={"topic": "a"})) != question_of(request(ext={"topic": "b"}))


def test_a_request_whose_opaque_cannot_be_told_or_that_wants_no_answer_is_not_asked_again() -> None:
    assert may_be_asked_again(asked(FORMS[0]))
    assert may_be_asked_again(asked(FORMS[1]))
    assert not may_be_asked_again(asked(frame(json_header(105, {"topic": "T"}).replace(b'"opaque":1,', b""))))
    assert not may_be_asked_again(asked(frame(json_header(105, {"topic": "T"}).replace(b"{", b'{"opaque":1,', 1))))
    assert not may_be_asked_again(asked(frame(json_header(105, {"topic": "T"}, flag=2))))
    assert not may_be_asked_again(asked(b"no frame"))


def test_a_request_is_shown_without_what_signs_it() -> None:
    assert text_of(asked(FORMS[0])) == "GET_ROUTEINFO_BY_TOPIC topic=T"
    assert text_of(asked(request(4321))) == "request 4321 topic=T"
    assert text_of(asked(b"")) == "unreadable"


def test_a_long_request_is_cut() -> None:
    assert len(text_of(asked(request(ext={f"f{n}": "v" * 1000 for n in range(100)})))) < 250


def test_half_a_surrogate_in_a_name_can_be_told_and_shown() -> None:
    header = json_header(105, {"topic": "T"}).replace(b'"T"', rb'"\ud800"')
    assert text_of(asked(frame(header))) == r"GET_ROUTEINFO_BY_TOPIC topic=\ud800"


def test_a_client_is_named_by_language_and_release_and_an_invented_language_is_not_repeated() -> None:
    assert client_of(asked(frame(json_header(105, language="GO", version=401)))) == "GO 4.9.4"
    assert client_of(asked(frame(json_header(105, language="<b>", version=-5)))) == "another language before 4.0.0"
