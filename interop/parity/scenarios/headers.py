"""Request headers in every form that Java accepts or refuses, JSON and binary (B001-B041)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from interop.parity.language import (
    BOTH_ENCODINGS,
    NAME,
    ONE_FORM,
    Ask,
    Form,
    HangUp,
    Quiet,
    Request,
    Scenario,
    Send,
    Step,
    Together,
    Until,
    Waits,
)
from interop.parity.requests import (
    ask,
    cluster_info,
    get,
    heartbeat,
    kv_list,
    put,
    query_version,
    raw,
    register,
    registration,
    route,
    route_of,
)

# JSON headers, each a scenario: name, rows, text. What a header means shows in the answer, or in that there is none.
JSON_HEADERS = (
    ("code-and-opaque-only", "B010 B011", '{"code":106,"opaque":7}'),
    ("without-opaque", "B009", '{"code":106,"flag":0,"language":"JAVA","version":513}'),
    ("null-opaque", "B009", '{"code":106,"opaque":null}'),
    ("without-code", "B012", '{"opaque":8,"version":513}'),
    ("null-code", "B012", '{"code":null,"opaque":8}'),
    ("null-flag", "B011", '{"code":106,"flag":null,"opaque":8}'),
    ("null-version", "B010", '{"code":106,"version":null,"opaque":8}'),
    ("empty-object", "B009 B012", "{}"),
    ("unknown-keys", "B013", '{"a":1,"b":[{"c":null}],"code":106,"d":{"e":"f"},"opaque":9}'),
    ("unknown-keys-of-every-type", "B013", '{"n":null,"t":true,"f":-1.5e3,"l":[[],{}],"code":106,"opaque":9}'),
    ("keys-in-wrong-case", "B012 B013", '{"Code":106,"opaque":9}'),
    ("a-key-twice", "B013", '{"code":1,"code":106,"opaque":16}'),
    ("numbers-as-strings", "B014", '{"code":"106","flag":"0","opaque":"10","version":"513"}'),
    ("number-with-zero-fraction", "B014", '{"code":106.0,"opaque":11}'),
    ("number-with-fraction", "B014", '{"code":106.7,"opaque":11}'),
    ("number-with-exponent", "B014", '{"code":1.06e2,"opaque":11}'),
    ("quoted-number-with-blank", "B014", '{"code":" 106","opaque":11}'),
    ("empty-string-as-number", "B014", '{"code":"","opaque":11}'),
    ("word-as-number", "B014", '{"code":"abc","opaque":11}'),
    ("true-as-number", "B014", '{"code":true,"opaque":11}'),
    ("object-as-number", "B014", '{"code":{},"opaque":11}'),
    ("array-as-number", "B014", '{"code":[106],"opaque":11}'),
    ("header-word-wins", "B015", '{"code":106,"opaque":12,"serializeTypeCurrentRPC":"ROCKETMQ"}'),
    ("unknown-serialize-type", "B015", '{"code":106,"opaque":12,"serializeTypeCurrentRPC":"XML"}'),
    ("null-serialize-type", "B015", '{"code":106,"opaque":12,"serializeTypeCurrentRPC":null}'),
    ("unknown-language", "B016", '{"code":106,"language":"COBOL","opaque":13}'),
    ("null-language", "B016", '{"code":106,"language":null,"opaque":14}'),
    ("language-in-wrong-case", "B016", '{"code":106,"language":"java","opaque":14}'),
    ("language-ordinal", "B016", '{"code":106,"language":9,"opaque":14}'),
    ("language-ordinal-too-large", "B016", '{"code":106,"language":99,"opaque":14}'),
    ("language-object", "B016", '{"code":106,"language":{},"opaque":14}'),
    ("white-space", "B013", ' {\t"code" : 106 ,\r\n "opaque" : 15 } '),
    ("ext-null", "B018 B082", '{"code":105,"extFields":null,"opaque":1}'),
    ("ext-empty", "B083", '{"code":105,"extFields":{},"opaque":1}'),
    ("ext-string", "B019", '{"code":105,"extFields":"x","opaque":1}'),
    ("ext-empty-string", "B019", '{"code":105,"extFields":"","opaque":1}'),
    ("ext-array", "B019", '{"code":105,"extFields":[],"opaque":1}'),
    ("ext-number", "B019", '{"code":105,"extFields":5,"opaque":1}'),
    ("ext-value-number", "B017", '{"code":105,"extFields":{"topic":5},"opaque":1}'),
    ("ext-value-fraction", "B017", '{"code":105,"extFields":{"topic":1.50},"opaque":1}'),
    ("ext-value-exponent", "B017", '{"code":105,"extFields":{"topic":1e3},"opaque":1}'),
    ("ext-value-long", "B017", '{"code":105,"extFields":{"topic":12345678901234567890},"opaque":1}'),
    ("ext-value-true", "B017", '{"code":105,"extFields":{"topic":true},"opaque":1}'),
    ("ext-value-null", "B018", '{"code":105,"extFields":{"topic":null},"opaque":1}'),
    ("ext-value-object", "B017", '{"code":105,"extFields":{"topic":{"a":1,"b":null}},"opaque":1}'),
    ("ext-value-array", "B017", '{"code":105,"extFields":{"topic":[1,"x",null]},"opaque":1}'),
    ("ext-value-list-of-one-text", "B017", '{"code":105,"extFields":{"topic":["a"]},"opaque":1}'),
    ("ext-value-list-of-an-empty-text", "B017", '{"code":105,"extFields":{"topic":[""]},"opaque":1}'),
    ("ext-value-list-of-null", "B017", '{"code":105,"extFields":{"topic":[null]},"opaque":1}'),
    ("ext-value-list-of-one-number", "B017", '{"code":105,"extFields":{"topic":[1.50]},"opaque":1}'),
    ("ext-value-list-of-two", "B017", '{"code":105,"extFields":{"topic":["a","b"]},"opaque":1}'),
    ("ext-value-empty-list", "B017", '{"code":105,"extFields":{"topic":[]},"opaque":1}'),
    ("ext-value-list-in-a-list", "B017", '{"code":105,"extFields":{"topic":[["a"]]},"opaque":1}'),
    ("ext-value-list-in-an-object", "B017", '{"code":105,"extFields":{"topic":{"x":["a"]}},"opaque":1}'),
    ("body-text", "B013", '{"code":106,"body":"AAAA","opaque":1}'),
    ("body-empty-text", "B013", '{"code":106,"body":"","opaque":1}'),
    ("body-null", "B013", '{"code":106,"body":null,"opaque":1}'),
    ("body-list", "B013", '{"code":106,"body":[1,"2",null,{},300],"opaque":1}'),
    ("body-list-of-text", "B013", '{"code":106,"body":["x"],"opaque":1}'),
    ("body-number", "B013", '{"code":106,"body":5,"opaque":1}'),
    ("body-object", "B013", '{"code":106,"body":{},"opaque":1}'),
    ("suspended-word", "B013", '{"code":106,"opaque":1,"suspended":"x"}'),
    ("suspended-true", "B013", '{"code":106,"opaque":1,"suspended":"true"}'),
    ("suspended-object", "B013", '{"code":106,"opaque":1,"suspended":{}}'),
    ("ext-value-empty", "B018", '{"code":105,"extFields":{"topic":""},"opaque":1}'),
    ("ext-value-escapes", "B017", '{"code":105,"extFields":{"topic":"\\u00fc\\n\\"\\\\\\/\\t"},"opaque":1}'),
    ("ext-value-surrogates", "B088", '{"code":105,"extFields":{"topic":"\\ud83d\\ude00"},"opaque":1}'),
    ("ext-value-lone-surrogate", "B088", '{"code":105,"extFields":{"topic":"\\ud83d"},"opaque":1}'),
    ("ext-key-twice", "B013", '{"code":105,"extFields":{"topic":"a","topic":"b"},"opaque":1}'),
    ("ext-first", "B013", '{"extFields":{"topic":"a"},"opaque":1,"code":105}'),
    ("code-2147483648", "B020", '{"code":2147483648,"opaque":1}'),
    ("code-minus-2147483649", "B020", '{"code":-2147483649,"opaque":1}'),
    ("opaque-2147483648", "B020", '{"code":106,"opaque":2147483648}'),
    ("opaque-quoted-too-large", "B020", '{"code":106,"opaque":"2147483648"}'),
    ("version-too-large", "B020", '{"code":106,"opaque":1,"version":2147483648}'),
    ("flag-too-large", "B020", '{"code":106,"opaque":1,"flag":4294967296}'),
    ("cut", "B021", '{"code":106,"opaque":1'),
    ("array", "B021", '[{"code":106}]'),
    ("null", "B021", "null"),
    ("number", "B021", "106"),
    ("string", "B021", '"code"'),
    ("followed-by-text", "B021", '{"code":106,"opaque":1}x'),
    ("followed-by-object", "B021", '{"code":106,"opaque":1}{}'),
    ("byte-order-mark", "B021", '\ufeff{"code":106,"opaque":1}'),
    ("unquoted-key", "B021", '{code:106,"opaque":1}'),
    ("missing-colon", "B021", '{"code" 106,"opaque":1}'),
    ("missing-comma", "B021", '{"code":106 "opaque":1}'),
    ("trailing-comma", "B021", '{"code":106,"opaque":1,}'),
    ("leading-zero", "B021", '{"code":0106,"opaque":1}'),
    ("plus-sign", "B021", '{"code":+106,"opaque":1}'),
    ("single-quoted", "B013", "{'code':106,'opaque':1}"),
    ("comment", "B013", '{"code":106,/* here */"opaque":1}'),
    ("text-only", "B021", "hello"),
)
# Header bytes that are no text.
JSON_BYTES = (
    ("bad-utf-8", "B021", b'{"code":106,"opaque":1,"remark":"\xff"}'),
    ("latin-1", "B021", '{"code":105,"extFields":{"topic":"ü"},"opaque":1}'.encode("latin-1")),
)


def _binary(code: int = 106, **more: object) -> bytes:
    return binary_header(code, opaque=18, **more)  # type: ignore[arg-type]


def _pair(key: bytes, value: bytes, key_length: int | None = None, value_length: int | None = None) -> bytes:
    key_length = len(key) if key_length is None else key_length
    value_length = len(value) if value_length is None else value_length
    return struct.pack(">h", key_length) + key + struct.pack(">i", value_length) + value


def _with_ext(ext: bytes, length: int | None = None, code: int = 105) -> bytes:
    return _binary(code)[:-4] + struct.pack(">i", len(ext) if length is None else length) + ext


BINARY_HEADERS = (
    ("bare", "B022 B032", _binary()),
    ("unknown-language", "B025", _binary()[:2] + b"\x63" + _binary()[3:]),
    ("highest-language", "B025", _binary()[:2] + b"\xff" + _binary()[3:]),
    ("with-remark", "B023", _binary(remark=b"hello")),
    ("negative-code", "B026", _binary(-3)),
    ("lowest-code", "B026", _binary(-32768)),
    ("ext-pair", "B023", _with_ext(_pair(b"topic", b"nope"))),
    ("ext-two-pairs", "B023", _with_ext(_pair(b"other", b"x") + _pair(b"topic", b"nope"))),
    ("ext-key-twice", "B023", _with_ext(_pair(b"topic", b"a") + _pair(b"topic", b"b"))),
    ("ext-empty-value", "B024", _with_ext(_pair(b"topic", b""))),
    ("ext-empty-key", "B024", _with_ext(_pair(b"", b"x") + _pair(b"topic", b"nope"))),
    ("ext-bad-utf-8", "B023", _with_ext(_pair(b"topic", b"\xff\xc3("))),
    ("ext-length-beyond-header", "B027", _with_ext(_pair(b"topic", b"nope"), 4096)),
    ("ext-length-one-too-many", "B027", _with_ext(_pair(b"topic", b"nope"), 16)),
    ("ext-length-one-too-few", "B031", _with_ext(_pair(b"topic", b"nope"), 14)),
    ("ext-length-negative", "B028", _with_ext(b"", -1, 106)),
    ("ext-length-lowest", "B028", _with_ext(b"", -(2**31), 106)),
    ("ext-value-beyond-data", "B031", _with_ext(_pair(b"topic", b"nope", value_length=99))),
    ("ext-value-negative", "B031", _with_ext(_pair(b"topic", b"nope", value_length=-1))),
    ("ext-key-beyond-data", "B031", _with_ext(_pair(b"topic", b"nope", key_length=99))),
    ("ext-key-negative", "B031", _with_ext(_pair(b"topic", b"nope", key_length=-1))),
    ("remark-negative", "B029", _binary()[:13] + struct.pack(">i", -1) + _binary()[17:]),
    ("remark-beyond-header", "B029", _binary()[:13] + struct.pack(">i", 4096) + _binary()[17:]),
    ("cut-after-flag", "B030", _binary()[:13]),
    ("cut-in-opaque", "B030", _binary()[:7]),
    ("cut-before-ext", "B030", _binary()[:17]),
    ("one-byte", "B030", b"\x00"),
    ("json-in-binary", "B003 B030", b'{"code":106,"opaque":7}'),
    ("more-bytes-than-fields", "B023", _binary() + b"\0\0\0\0"),
)


def _one_header(name: str, rows: str, header: str | bytes, *, binary: bool = False) -> Scenario:
    """The header on a connection that is known, then whether that still serves."""
    steps = (cluster_info(), raw(header, binary=binary), cluster_info())
    kind = "binary" if binary else "json"
    return Scenario(f"{kind}-header-{name}", rows, steps, forms=ONE_FORM)


def _answers() -> Iterator[Scenario]:
    yield Scenario("answer-shape", "B001 B002 B003 B005 B006 B007 B008 B032 B036 B037 B079 B082 B083", _every_code())
    yield Scenario(
        "body-that-nobody-needs", "B086", tuple(ask(code, None, b"ignored") for code in (106, 206, 304, 105))
    )
    for flag in (4, 8, 0x7FFFFFFC, -4):
        yield Scenario(f"request-flag-{flag}", "B035", (cluster_info(flag=flag), route(flag=flag)))
    for opaque in (0, -1, 2147483647, -2147483648):
        yield Scenario(f"opaque-{opaque}", "B036", (cluster_info(opaque=opaque), route(opaque=opaque)))
    for language in ("CPP", "PYTHON", "GO", "RUST"):
        yield Scenario(f"language-{language.lower()}", "B016 B037", (cluster_info(language=language), route()))
    yield Scenario("access-control-fields", "B251", (put(), _signed()))


def _every_code() -> tuple[Step, ...]:
    """Every request code without fields, and with fields that name nothing."""
    read_only = (101, 105, 106, 205, 206, 216, 219, 224, 304, 311, 312, 313, 319, 327, 901)
    failing = (103, 322, 904)
    unknown = (0, 107, 300, 905, 1001, 1013, 9999, 32767)
    without = tuple(ask(code) for code in read_only + failing + unknown)
    nobody = {"brokerName": "x" + NAME, "clusterName": "y" + NAME, "topic": "z" + NAME}
    return without + tuple(ask(code, nobody) for code in read_only + failing + unknown)


def _signed() -> Ask:
    return ask(101, {"namespace": "n" + NAME, "key": "k", "AccessKey": "a", "Signature": "s", "SecurityToken": "t"})


def _oneway() -> Iterator[Scenario]:
    oneway = (Send(Request(code, {"topic": "T"}, flag=2)) for code in (105, 106, 206, 9999, 103, 322, 904))
    yield Scenario("oneway-nothing-comes-back", "B038 B039", (cluster_info(), *oneway, Quiet()))
    yield Scenario(
        "oneway-registration",
        "B038 B165",
        (Send(registration(flag=2)), Until(route_of("U"), code=0), query_version(), Quiet()),
    )
    told = Send(Request(100, {"namespace": "n" + NAME, "key": "k", "value": "v"}, flag=2))
    stored = Until(Request(101, {"namespace": "n" + NAME, "key": "k"}), code=0)
    yield Scenario("oneway-put", "B038", (told, stored, kv_list()), forms=BOTH_ENCODINGS)
    responses = (Send(Request(code, flag=flag)) for code in (0, 106, 9999) for flag in (1, 3, 5))
    yield Scenario("frames-with-response-bit", "B040", (cluster_info(), *responses, Quiet(), Waits()))
    mixed = tuple(
        Request(code, {"topic": "T", "namespace": "none"}) for _ in range(10) for code in (105, 106, 219, 9999, 101)
    )
    yield Scenario("pipelined-requests", "B041", (Together(mixed), Together(mixed, on="second")))
    yield Scenario(
        "both-encodings-on-one-connection",
        "B003 B032",
        (
            *(cluster_info(form=Form(binary, version)) for version in (0, 513) for binary in (False, True)),
            *(register(form=Form(True, 401)), heartbeat(form=Form(False, 36)), get(), HangUp()),
        ),
        forms=ONE_FORM,
    )


# As clients in other languages write them: %s is the header fields with a topic.
OF_CLIENTS = (
    '{"code":105,"extFields":%s,"flag":0,"language":5,"opaque":0,"remark":"","version":317}',
    '{"code":105,"language":3,"version":1,"opaque":1,"flag":0,"extFields":%s}',
    '{"code":105,"languageCode":2,"version":317,"opaque":1,"flag":0,"remark":null,"extFields":%s}',
    '{"code":105,"extFields":%s,"flag":0,"language":"DOTNET","opaque":1,"serializeTypeCurrentRPC":"JSON","version":407}',
    '{"code":105,"language":"other","flag":0,"opaque":1,"version":373,"extFields":%s,"remark":""}',
    '{"code":105,"opaque":1,"extFields":%s,"flag":0,"language":"ERLANG","serializeTypeCurrentRPC":"JSON","version":401}',
)


def _of_clients() -> Iterator[Scenario]:
    fields = (
        '{"topic":"%s","sysFlag":64,"logicalQueueIdsFilter":null}',
        '{"AccessKey":"key","Signature":"bm8=","SecurityToken":"t","OnsChannel":"ALIYUN","topic":"%s"}',
    )
    asked = (raw(header % (ext % (name + NAME))) for header in OF_CLIENTS for ext in fields for name in ("T", "none"))
    yield Scenario("headers-of-other-clients", "B197 B198 B199 B251", (register(), *asked), forms=BOTH_ENCODINGS)


def _types() -> Iterator[Scenario]:
    for kind in (2, 3, 128, 255):
        data = frame(json_header(106), serialize_type=kind)
        yield Scenario(f"serialize-type-{kind}", "B004", (Ask(data), Ask(data, on="second")), forms=ONE_FORM)
    data = frame(binary_header(106), serialize_type=0)
    yield Scenario("binary-header-marked-json", "B003 B021", (Ask(data),), forms=ONE_FORM)
    data = frame(json_header(106), serialize_type=ROCKETMQ)
    yield Scenario("json-header-marked-binary", "B003 B030", (Ask(data),), forms=ONE_FORM)


SCENARIOS = (
    *(_one_header(*one) for one in JSON_HEADERS + JSON_BYTES),
    *(_one_header(*one, binary=True) for one in BINARY_HEADERS),
    *_answers(),
    *_oneway(),
    *_types(),
    *_of_clients(),
)
