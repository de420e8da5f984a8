"""Deliberate differences from Java: each step that ``differs`` shows one difference of docs/differences.md."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import cache

from interop.harness.payloads import block, compressed_body, dumps, register_body, topic_config, wrapper
from interop.harness.wire import JSON, ROCKETMQ, binary_header, frame, json_header
from interop.parity.language import (
    NAME,
    ONE_FORM,
    Alone,
    Ask,
    Deflated,
    Differs,
    HangUp,
    HowMany,
    Request,
    SameFile,
    Scenario,
    Send,
    Settle,
    Step,
    Together,
    Until,
    Waits,
)
from interop.parity.requests import (
    ask,
    cluster_info,
    configs,
    configure,
    delete,
    get,
    own,
    put,
    register,
    registration,
    route,
    route_of,
    show,
    topic,
    unregister,
    unregistration,
    version_query,
)

TOPICS = configs(("T", "U"))
GOOD = register_body(TOPICS)
LISTED, INFO = Request(206), Request(106)
BLANKS = 34 << 20
# Packs less than the bound of the ratio allows.
FAST = 1
LONG = "x" * 4097


def some(name: str) -> Differs:
    """Counted on Java, and none of it on rocketns."""
    return Differs(name, r"^[1-9]", r"^0$")


def none(name: str) -> Differs:
    """The other way round."""
    return Differs(name, r"^0$", r"^[1-9]")


def _differing(name: str, rows: str, *steps: Step, setup: str = "differences", attempts: int = 1) -> Scenario:
    return Scenario(name, rows, steps, setup=setup, forms=ONE_FORM, state=False, attempts=attempts)


def _nulls() -> Iterator[Scenario]:
    group = HowMany(INFO, f'"{own("a")}":{{"brokerAddrs":{{}}', differs=some("registration-without-address"))
    yield _differing("registration-without-address", "B144", register(brokerAddr=None), group)
    empty = HowMany(INFO, f'"brokerName":"{own("a")}"', differs=some("registration-without-address"))
    yield _differing("registration-with-an-empty-address", "B144", register(brokerAddr=""), empty)
    # Java's set keeps the null for good, so nothing after this can compare answers to 106 with this pair.
    null = HowMany(INFO, f'"{own("C")}":[null]', differs=some("registration-without-name"))
    yield _differing("registration-without-name", "B143", register(brokerName=None), null)
    table = dumps({"x": topic("T"), "y": {"perm": 6}, "z": topic("U")})
    nameless = GOOD.replace(dumps(wrapper(TOPICS)["topicConfigTable"]), table)
    live = HowMany(version_query(), 'changed":"false', differs=none("topic-without-name"))
    yield _differing("topic-without-name", "B135", register(body=nameless), live)
    nulls = GOOD.replace(b'"topicQueueMappingInfoMap":{}', b'"topicQueueMappingInfoMap":null')
    live = HowMany(version_query(), '"changed":"false"', differs=none("null-mappings"))
    yield _differing("registration-with-null-mappings", "B162", register(body=nulls), live)
    for name, value in (("a-null-mapping", b"null"), ("an-empty-text-as-mapping", b'""')):
        one = GOOD.replace(b'"topicQueueMappingInfoMap":{}', b'"topicQueueMappingInfoMap":{"M":' + value + b"}")
        yield _differing(f"registration-with-{name}", "B162", register(body=one), live)
    nameless_mapping = register(mapping={own("T"): {"topic": own("T")}})
    found = route(differs=Differs("mapping-without-name", r'"code":1,', r'"code":0,'))
    yield _differing("mapping-without-broker-name", "B162", nameless_mapping, found)


def _unregistering() -> Iterator[Scenario]:
    """Java's worker takes what waits as one batch; how much that is, is a race."""
    number = 20
    brokers = tuple(register(name=f"b{n:02}", host=n) for n in range(number))
    bad = Request(104, {})
    batch = tuple(one for n in range(number) for one in (*([bad] * 10), unregistration(f"b{n:02}", n)))
    left = HowMany(LISTED, own("T"), differs=some("null-in-a-batch"))
    yield _differing(
        "a-null-in-a-batch-of-unregistrations", "B182", *brokers, Together(batch), Settle(), left, attempts=20
    )
    # As many closes at once as the queue, of length 1, cannot take.
    connections = tuple(register((), name=f"b{n:03}", host=n, on=f"broker {n}") for n in range(150))
    closes = tuple(HangUp(on=f"broker {n}") for n in range(150))
    left = HowMany(INFO, '"brokerName":"b', differs=some("full-queue-on-close"))
    yield _differing(
        "closes-beyond-the-queue", "B184 B187", *connections, Alone(closes), Settle(), left, setup="narrow", attempts=20
    )


@cache
def _many() -> bytes:
    """A registration that takes long enough that others wait for the tables."""
    topics = [topic_config(f"X{number}" + NAME) for number in range(20_000)]
    return dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper(topics)})


def _stale() -> Iterator[Scenario]:
    """A close is seen, the broker registers again, and only then the close is applied."""
    count = 10
    large = tuple(
        Send(registration(name=f"x{n}", host=n + 10, cluster="L", body=_many, bodyCrc32="0"), on=f"large {n}")
        for n in range(count)
    )
    yield _differing(
        "close-after-a-new-registration",
        "B187 B189",
        register(on="old"),
        Alone(
            (
                *large,
                Until(INFO, has=own("L"), on="beside"),
                HangUp(on="old"),
                ask(319, on="beside"),
                register(on="new"),
            )
        ),
        *(Until(route_of("X1"), has=own(f"x{n}"), compared=False) for n in range(count)),
        Settle(),
        route(differs=Differs("stale-close", r'"code":17', r'"code":0')),
        *(unregister(f"x{n}", n + 10, cluster="L") for n in range(count)),
        attempts=100,
    )


def _overflow() -> Iterator[Scenario]:
    """Both servers look for overdue brokers every 200 ms, from 5 s after their start."""
    for_ever = register(on="broker", heartbeatTimeoutMillis=str(2**63 - 1))
    noticed = Waits(on="broker", for_s=0.6, differs=Differs("timeout-that-overflows", "closed", "silent"))
    yield _differing("timeout-that-overflows", "B166 B190", for_ever, noticed, attempts=12)


def _bodies() -> Iterator[Scenario]:
    taken = Differs("deflated-marked-plain", r'"code":1[,7]', r'"code":0,')
    deflated = register(body=compressed_body(TOPICS), differs=taken)
    yield _differing("deflated-body-marked-plain", "B130", deflated, route(differs=taken))
    refused = Differs("limits", r'"code":0,', r'"code":1,')
    large = b"/* " + b"x" * 300_000 + b" */" + GOOD
    yield _differing("large-body-that-is-no-json", "B134", register(body=large, differs=refused))
    deep = GOOD[:-1] + b",'deep':" + b"[" * 200 + b"]" * 200 + b"}"
    yield _differing("deep-body-that-is-no-json", "B134", register(body=deep, differs=refused))
    wide = register(body=Deflated(_wide, FAST), compressed="true", differs=refused)
    yield _differing("deflated-body-of-34-mb", "B126", wide)
    yield from _limits(refused)


def _limits(refused: Differs) -> Iterator[Scenario]:
    """A body beyond each limit, that Java takes."""
    wrapped = GOOD.index(b'"topicConfigSerializeWrapper"')
    mappings = ",".join(f'"m{number}":null' for number in range(10_001)).encode()
    # As many as it takes, and one name for all of them.
    odd = "".join(f'"k{number}":{{"perm":"6","topicName":"{own("T")}"}},' for number in range(10_001)).encode()
    plain = {
        "values": GOOD[:wrapped] + b"'x':[" + b"1," * 500_000 + b"1]," + GOOD[wrapped:],
        "filter-servers": GOOD.replace(b'"filterServerList":[]', b'"filterServerList":[' + b'"f",' * 10_000 + b'"f"]'),
        "a-number-of-9000-digits": GOOD.replace(b'"perm":6', b'"perm":"' + b"0" * 9000 + b'6"'),
        "static-topics": GOOD.replace(b'"topicQueueMappingInfoMap":{', b'"topicQueueMappingInfoMap":{' + mappings),
        "odd-topics": GOOD.replace(b'"topicConfigTable":{', b'"topicConfigTable":{' + odd),
    }
    for name, body in plain.items():
        assert body != GOOD
        yield _differing(f"body-beyond-the-limit-of-{name}", "B134", register(body=body, differs=refused))
    one, other = (block(f"{own(name)} 1 1 6 SINGLE_TAG".encode()) for name in "TU")
    lines = struct.pack(">i", 100_001) + one * 100_000 + other
    packed = {"topics": block(b"{}") + lines, "bytes-of-a-block": block(b"{}".ljust(2 << 20)) + struct.pack(">i", 0)}
    for name, start in packed.items():
        inflated = Deflated(lambda start=start: start + block(b"[]") + struct.pack(">i", 0), FAST)  # type: ignore[misc]
        asked = register(body=inflated, compressed="true", differs=refused)
        yield _differing(f"deflated-body-beyond-the-limit-of-{name}", "B126", asked)
    ratio = block(b"{}".ljust(1 << 20)) + struct.pack(">i", 0) + block(b"[]") + struct.pack(">i", 0)
    inflates = Differs("limits", r'"code":0,', r'"code":1,.*inflates to more')
    packed_ratio = register(body=Deflated(ratio), compressed="true", differs=inflates)
    yield _differing("deflated-body-beyond-the-limit-of-its-ratio", "B126", packed_ratio)
    many, repeats = tuple(f"R{number}" for number in range(5_000)), r'"code":1,.*bytes of names, 5000 times'
    repeating = register(many, brokerName=own("r" * 4_000), deflated=True,
                         differs=Differs("limits", r'"code":0,', repeats))  # fmt: skip
    yield _differing("registration-beyond-the-limit-of-what-topics-repeat", "B126", repeating)
    brokers = b'{"queueDatas":[' + b"{}," * 10_000 + b"{}]}"
    yield _differing("topic-beyond-the-limit-of-brokers", "B134",
                     ask(217, {"topic": own("nobody's")}, brokers, differs=refused))  # fmt: skip


def _wide() -> bytes:
    """A body whose list of filter servers has megabytes of blanks before it."""
    filters = struct.pack(">i", BLANKS + 2) + b" " * BLANKS + b"[]"
    return zlib.decompress(compressed_body(TOPICS)).replace(struct.pack(">i", 2) + b"[]", filters)


def _long_names() -> Iterator[Scenario]:
    """One byte more than rocketns.nameBytesMax: a name of each kind."""
    bound = "rocketns.nameBytesMax=4096"
    taken = Differs("long-names", r'"code":0,', rf'"code":1,.*{bound}')
    for field in ("brokerName", "brokerAddr", "clusterName", "haServerAddr", "__ZONE_NAME"):
        yield _differing(f"long-name-in-{field.strip('_')}", "B109", register(**{field: LONG}, differs=taken))
    bodies = {
        "topic": register((topic_config(LONG), "T"), differs=taken),
        "deflated-topic": register((topic_config(LONG), "T"), deflated=True, differs=taken),
        "filter-server": register(filters=(LONG,), differs=taken),
        "mapping": register(mapping={own("T"): {"topic": own("T"), "bname": own("a"), "scope": LONG}}, differs=taken),
    }
    for name, asked in bodies.items():
        yield _differing(f"long-name-of-a-{name}", "B134", asked)
    unknown = Differs("long-names", r'"code":17,', rf'"code":1,.*{bound}')
    yield _differing("long-topic-of-a-lookup", "B197", ask(105, {"topic": LONG}, differs=unknown))
    yield _differing("long-topic-of-a-deletion", "B224", ask(216, {"topic": LONG}, differs=taken))
    failed = Differs("long-names", r'"code":0', rf'"code":1,.*{bound}')
    missing = Differs("long-names", r'"code":22,', rf'"code":1,.*{bound}')
    yield _differing(
        "long-kv-key", "B094 B099", put(LONG, differs=failed), get(LONG, differs=failed), setup="kv-differences"
    )
    yield _differing("long-kv-namespace", "B104", ask(219, {"namespace": LONG}, differs=missing),
                     setup="kv-differences")  # fmt: skip


def _headers() -> Iterator[Scenario]:
    def closed(name: str, rows: str, header: bytes, shows: str, kind: int = JSON) -> Scenario:
        asked = Ask(frame(header, b"", kind), differs=Differs(shows, "^answer", "^closed"))
        return _differing(name, rows, cluster_info(), asked)

    many = binary_header(106, {f"field{number}": "x" for number in range(65_537)})
    yield closed("binary-header-of-65537-fields", "B023", many, "limits", ROCKETMQ)
    values = json_header(106)[:-1] + b',"x":[' + b"1," * 65_536 + b"1]}"
    yield closed("header-beyond-the-limit-of-values", "B013", values, "limits")
    large = json_header(106)[:-1] + b",'x':\"" + b"x" * 20_000 + b'"}'
    yield closed("large-header-that-is-no-json", "B013", large, "limits")
    for member in ('"callbackList":1', '"processTimer":"x"'):
        name = "header-with-" + member.split('"')[1]
        odd = Ask(
            frame(json_header(106)[:-1] + f",{member}}}".encode()), differs=Differs("members", "^closed", "^answer")
        )
        yield _differing(name, "B013", cluster_info(), odd)
    yield closed("header-with-a-zero-byte", "B021", json_header(106) + b"\0", "zero-bytes")
    for name, text in (("lone-byte", b"\xc3("), ("overlong", b"\xc0\xaf")):
        header = b'{"code":105,"extFields":{"topic":"' + text + b'"},"opaque":1}'
        yield closed(f"header-with-bad-utf-8-{name}", "B021", header, "bad-utf-8")


def _settings() -> Iterator[Scenario]:
    """Request 318: what it is refused here, and what is shown but does not reach the file."""

    def refused(name: str, rows: str, text: str, shows: str, code: int) -> Scenario:
        return _differing(name, rows, configure(text, differs=Differs(shows, r'"code":0,', rf'"code":{code},')))

    for name, text in (("line-break", "a\\nb"), ("zero", "a\\u0000b"), ("escape-sequence", "a\\u001b[2Jb")):
        yield refused(f"setting-with-a-{name}", "B241", f"productEnvName={text}\n", "control-characters-in-settings", 1)
    for name in ("rocketns.connectionsMax", "tls.server.mode", "journalNs"):
        yield refused(f"setting-{name}", "B236 B238", f"{name}=0\n", "operators-properties", 16)
    yield refused("settings-of-65-kb", "B235", "productEnvName=" + "x" * 65_536, "limits", 1)
    # What the file says of a property that is set by the request.
    for name, value in (("clusterTest", "true"), ("scanNotActiveBrokerInterval", "0"), ("bindAddress", "no.such.host")):
        file = SameFile("namesrv.properties", differs=Differs("settings-that-stay-unwritten", f"(?m)^{name}={value}$",
                                                              f"(?m)^(?!{name}={value}$){name}="))  # fmt: skip
        yield _differing(f"unwritten-{name}", "B235 B243", configure(f"{name}={value}\n"), show(), file)
    file = SameFile("namesrv.properties", differs=Differs("escaped-file", "(?m)^productEnvName=a=b:Ã¼$",
                                                          r"(?m)^productEnvName=a\\=b\\:\\u00fc$"))  # fmt: skip
    yield _differing("settings-as-the-next-start-reads-them", "B235", configure("productEnvName=a\\=b:\\u00fc\n"), file)


def _order() -> Iterator[Scenario]:
    names = tuple(f"{letter}{number}" for number in range(4) for letter in "zyx")
    in_order = Differs("order-of-lists", r'"topicList":\["', r'\["x0\w+","x1\w+","x2\w+","x3\w+","y0')
    yield _differing("topics-in-order", "B221", register(names), ask(206, exact=True, differs=in_order))


def _digests() -> Iterator[Scenario]:
    """rocketns' own request tells it from Java's name server. A bucket beyond the last one is an error."""
    own_code = Differs("route-digests", r'"code":3,.*not supported', r'"code":0')
    beyond = Differs("route-digests", r'"code":3,.*not supported', r'"code":1,.*below 256')
    fields = {"bucket": "256"}
    yield _differing("route-digests", "B076", Ask(Request(21070), differs=own_code),
                     Ask(Request(21070, fields), differs=beyond))  # fmt: skip


def _kv() -> Iterator[Scenario]:
    """The setup's KV file cannot be written, so what rocketns takes it answers with an error too."""
    failed = Differs("file-not-written", r'"code":0', r'"code":1,.*cannot write')
    steps = (put(differs=failed), get(), delete(differs=failed), get())
    yield _differing("kv-file-that-cannot-be-written", "B094 B101", *steps, setup="kv-differences")
    large = Differs("kv-limits", r'"code":0', r'"code":1,.*rocketns.kvValueBytesMax=1000')
    yield _differing("kv-value-beyond-its-limit", "B094", put(value="v" * 1001, differs=large), setup="kv-differences")
    many = Differs("kv-limits", r'"code":0', r'"code":1,.*rocketns.kvBytesMax=1500')
    puts = (put(value="v" * 1000, differs=failed), put("more", "v" * 1000, differs=many), delete(differs=failed))
    yield _differing("kv-items-beyond-their-limit", "B094", *puts, setup="kv-differences")


def _full_tables() -> Iterator[Scenario]:
    """Only the last one registers brokers that rocketns takes."""

    def refused(limit: str) -> Differs:
        return Differs("full-tables", r'"code":0,', rf'"code":1,.*rocketns.{limit};')

    many = register(("T", "U", "V", "W"), differs=refused("brokerRoutesMax=3"))
    yield _differing("broker-with-too-many-topics", "B134", many, setup="full-tables")
    filters = register(filters=("f",) * 10, differs=refused("routesMax=9"))
    yield _differing("tables-with-too-many-routes", "B134", filters, setup="full-tables")
    brokers = (register(), register(host=2, broker_id=1),
               register(host=3, broker_id=2, differs=refused("brokersMax=2")))  # fmt: skip
    yield _differing("tables-with-too-many-brokers", "B134", *brokers, setup="full-tables")


def _flags() -> Iterator[Scenario]:
    """Of 13 brokers one leaves. Java's map keeps 32 buckets, where j3j is first; of 16 buckets b3b would be."""
    names = [f"{letter}3{letter}" for letter in "abcdefghijklm"]
    hosts = dict(enumerate(names))
    every = tuple(
        register(("G", topic("F", flag=int(name == "j3j"))), brokerName=name, host=host) for host, name in hosts.items()
    )
    gone = unregister(host=0, brokerName=names[0])
    listed = HowMany(Request(311), own("F"), differs=some("first-broker"))
    others = tuple(unregister(host=host, brokerName=name) for host, name in hosts.items() if host)
    yield _differing("flags-of-a-topic-that-lost-brokers", "B233", *every, gone, Settle(), listed, *others, Settle())


SCENARIOS = (
    *_kv(),
    *_digests(),
    *_full_tables(),
    *_flags(),
    *_order(),
    *_settings(),
    *_bodies(),
    *_long_names(),
    *_headers(),
    *_unregistering(),
    *_stale(),
    *_overflow(),
    *_nulls(),
)
