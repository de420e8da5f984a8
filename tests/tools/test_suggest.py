"""`rocketns access suggest`: the policy allows what was seen, of each sender, and nothing else; whatever peers sent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.wire import Client
from rocketns.__main__ import main
from rocketns.access.classes import RIGHTS, Mode, access_request
from rocketns.access.decision import Decision, RefusalReason, decide, evidence_of
from rocketns.access.policy import Policy
from rocketns.access.policy_file import read_policy
from rocketns.access.policy_values import TO_BE_FILLED_IN
from rocketns.access.shown import cut, shown_fields
from rocketns.access.signature import Signed
from rocketns.addresses import literal
from rocketns.journal.encoding import request_record
from rocketns.processor.requests import request_of
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.events import RequestRefused
from rocketns.tools.access import refusals
from tests.access.signing import KEY, SECRET, signed
from tests.access.test_decision import CLASS_OF
from tests.support.policies import whole
from tests.tools.conftest import Run

FIRST_US = 1_763_596_800_000_000  # 2025-11-20T00:00:00Z


@dataclass(frozen=True)
class Sent:
    """A request of a host, signed by a key or not. A host of IPv6 is its network, as events have it."""

    host: str
    key: str | None
    code: int
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> RemotingCommand:
        return RemotingCommand(self.code, 513, 1, 0, dict(self.fields), None)

    def event(self, reason: str | None = None, count: int = 1) -> RequestRefused:
        why = RefusalReason.NO_EVIDENCE if self.key is None else RefusalReason.UNKNOWN_KEY
        return RequestRefused(
            self.code, request_of(self.code).access.value, reason or why, self.host, None, cut(self.key, 200),
            is_enforced=False, count=count, fields=shown_fields(dict(self.fields)),
        )  # fmt: skip


def sent(host: str, code: int, key: str | None = None, **fields: str) -> Sent:
    return Sent(host, key, code, tuple(fields.items()))


def lines(events: Iterable[RequestRefused], first_us: int = FIRST_US) -> bytes:
    """A journal's lines, a second between them."""
    return b"".join(
        b'{"boot":1,"seq":%d,"ts":%d,' % (number, first_us + number * 1_000_000) + request_record(event) + b"\n"
        for number, event in enumerate(events)
    )


def journal(folder: Path, content: bytes, name: str = "1-000001.jsonl") -> str:
    """A folder with one file of a journal."""
    day = folder / "v=1" / "dt=2025-11-20" / "ns=a"
    day.mkdir(parents=True, exist_ok=True)
    (day / name).write_bytes(content)
    return str(folder)


def policy_of(text: str) -> Policy:
    """The policy of a suggestion, enforced, with a secret for each key."""
    text = text.replace(f'"{TO_BE_FILLED_IN}"', '"a secret of a key"')
    policy = read_policy("suggested.toml", text, lambda _path: "")
    return replace(policy, modes=dict.fromkeys(RIGHTS, Mode.ENFORCE))


def decision(policy: Policy, one: Sent) -> Decision:
    """What the policy says of the request; its signature is right if its key has a secret."""
    evidence = evidence_of(policy, literal(one.host.partition("/")[0]), ())
    if one.key is not None:
        signed = Signed.RIGHT if one.key in policy.secrets else Signed.UNKNOWN_KEY
        evidence = replace(evidence, key=one.key, signed=signed)
    return decide(policy, access_request(one.command, request_of(one.code).access), evidence)


HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "192.168.7.9", "2001:db8::/64", "8.8.8.8")
KEYS = (None, "k1", 'k"]\n[principals.x]\nmay = ["admin"]', "k1 \u202e\x1b[2J", "ключ")
NAMES = ("broker-a", "broker-[a]*", "*", "a\n# b", "'''", '"""\\', "брокер", "\x00\x7f", "\U000e0001\u2028")
ADDRESSES = ("10.0.0.1:10911", "10.9.0.1:10911", "[2001:db8::7]:10911", "2001:db8::8:10911")
NAMESPACES = ("ORDER_TOPIC_CONFIG", "LMQ", "*", "x\r\n")
WITH_BROKER, WITH_NAMESPACE = (103, 104, 322, 904), (100, 101, 102, 219)


# 217 names its brokers in its body, which no journal has.
CODES = tuple(code for code in CLASS_OF if code != 217)


@st.composite
def requests_seen(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> Sent:
    code = draw(st.sampled_from(CODES))
    fields = {"topic": draw(st.sampled_from(names))} if code == 105 else {}
    if code in WITH_BROKER:
        fields = {"brokerName": draw(st.sampled_from(names)), "brokerAddr": draw(st.sampled_from(ADDRESSES))}
    if code in WITH_NAMESPACE:
        fields = {"namespace": draw(st.sampled_from(NAMESPACES))}
    return Sent(draw(st.sampled_from(HOSTS)), draw(st.sampled_from(KEYS)), code, tuple(fields.items()))


def printed_of(seen: Iterable[Sent]) -> str:
    """What the command prints."""
    with tempfile.TemporaryDirectory() as folder, patch("sys.stdout", StringIO()) as printed:
        words = ["access", "suggest", "--journal", journal(Path(folder), lines(one.event() for one in seen))]
        assert main(words) == 0
        return printed.getvalue()


def is_covered(asked: Sent, seen: list[Sent]) -> bool:
    """Whether the same sender was seen with the class, the name, the address and the namespace, each for itself.

    Whoever signs is also the host, where it was seen without a key.
    """
    alike = [one for one in seen if one.host == asked.host]
    return any(_is_covered(asked, [one for one in alike if one.key == key]) for key in {asked.key, None})


def _is_covered(asked: Sent, seen: list[Sent]) -> bool:
    is_admin = CLASS_OF[asked.code] == "admin"
    seen = [one for one in seen if (CLASS_OF[one.code] == "admin") is is_admin]
    rights = {CLASS_OF[asked.code]}
    if asked.code in (105, 106) or (rights == {"read"} and ("namespace", "ORDER_TOPIC_CONFIG") in asked.fields):
        rights.add("broker")
    if rights.isdisjoint(CLASS_OF[one.code] for one in seen):
        return False
    pairs = {pair for one in seen for pair in one.fields}
    return all(pair in pairs for pair in asked.fields if pair[0] != "topic")


@given(st.lists(requests_seen(), min_size=1, max_size=8), st.lists(requests_seen(), max_size=8))
def test_what_was_seen_is_allowed_and_nothing_else(seen: list[Sent], others: list[Sent]) -> None:
    text = printed_of(seen)
    policy = policy_of(text)
    ordinary = [one for one in seen if CLASS_OF[one.code] != "admin"]
    for one in (*seen, *others):
        assert decision(policy, one).is_refused is not is_covered(one, ordinary), text


hostile = st.text(st.characters(codec=None, categories=None), max_size=300)  # also lone surrogates


@given(st.lists(st.tuples(hostile, st.none() | hostile, hostile, hostile), min_size=1, max_size=6))
def test_no_name_breaks_out_of_its_quotes_or_of_a_comment(names: list[tuple[str, str | None, str, str]]) -> None:
    """All lines are as the writer makes them, no character controls a terminal, and nobody else is let in."""
    seen = [Sent("10.0.0.1", key, 103, (("brokerName", broker), ("brokerAddr", address)))
            for _, key, broker, address in names]  # fmt: skip
    seen += [Sent(host, key, 100, (("namespace", broker),)) for host, key, broker, _ in names]
    text = printed_of(seen)
    assert text.replace("\n", "").isprintable()
    policy = policy_of(text)
    assert {str(network) for one in policy.principals for network in one.networks} <= {"10.0.0.1/32"}
    assert decision(policy, Sent("10.0.0.2", None, 105)).is_refused
    assert not any("admin" in one.may for one in policy.principals)


NO_PERMISSION = 16
OBSERVE = "[modes]\nlookup = 'observe'\nread = 'observe'\nbroker = 'observe'\nadmin = 'observe'\n"


def asked(server: NameServer) -> list[int]:
    """The answers' codes: a broker at 127.0.0.3, a client at .4, a tool that signs at .5, and its wipe."""
    body = register_body([topic_config("T"), topic_config("U")])  # Java takes no single topic of a new broker
    answers = []
    with Client(server.port, source="127.0.0.3") as broker:
        answers.append(broker.request(103, register_ext(broker="b[1]", body=body), body).code)
        with Client(server.port, source="127.0.0.4") as client, Client(server.port, source="127.0.0.5") as tool:
            answers.append(client.request(105, {"topic": "T"}).code)
            answers.append(tool.request(106, signed({})).code)
            answers.append(tool.request(205, signed({"brokerName": "b[1]"})).code)
    return answers


def test_what_was_observed_is_served_when_it_is_enforced(access: Run, tmp_path: Path) -> None:
    file = tmp_path / "access.toml"
    properties = {"rocketns.accessFile": file, "journalPath": tmp_path / "journal", "journalNs": "a"}
    file.write_text(whole(OBSERVE), "utf-8")
    observing = RocketnsServer(tmp_path / "ns", properties)
    assert asked(observing) == [0, 0, 0, 0]
    observing.stop()
    status, text, _ = access("suggest", "--journal", str(tmp_path / "journal"))
    assert status == 0
    file.write_text(text.replace("observe", "enforce").replace("<fill in>", SECRET), "utf-8")
    with RocketnsServer(tmp_path / "ns2", properties | {"journalNs": "b"}) as enforcing:
        assert asked(enforcing) == [0, 0, 0, NO_PERMISSION]
        with Client(enforcing.port, source="127.0.0.4") as client:
            assert client.request(206).code == NO_PERMISSION
        with Client(enforcing.port, source="127.0.0.6") as stranger, pytest.raises(ConnectionError):
            stranger.request(105, {"topic": "T"})
    for words, expected in ((("code=105", "from=127.0.0.4"), 0), (("code=205", "from=127.0.0.5", f"key={KEY}"), 1)):
        assert access("check", str(file), *words)[0] == expected


LOOKUP = sent("10.0.0.1", 105, topic="orders")
BROKER = sent("10.0.1.1", 103, brokerName="broker-a", brokerAddr="10.0.1.1:10911")


def suggested(access: Run, folder: str) -> str:
    status, shown, error = access("suggest", "--journal", folder)
    assert (status, error) == (0, "")
    return shown


def of(access: Run, folder: Path, *requests: Sent) -> str:
    return suggested(access, journal(folder, lines(one.event() for one in requests)))


def test_a_key_is_named_and_its_secret_left_to_be_filled_in(access: Run, tmp_path: Path) -> None:
    text = of(access, tmp_path, sent("10.0.0.1", 105, "k1"))
    assert '[principals."key k1 10.0.0.1"]' in text
    assert text.partition("\n[modes]")[0].endswith('\n[keys.k1]\nsecret = "<fill in>"\n')
    file = tmp_path / "policy.toml"
    file.write_text(text, "utf-8")
    status, _, error = access("check", str(file))
    assert status == 1
    assert "policy.toml, line 23: keys.k1: the secret of 'k1' is still to be filled in" in error


def test_admin_requests_are_comments(access: Run, tmp_path: Path) -> None:
    text = of(access, tmp_path, sent("8.8.8.8", 205, "ops", brokerName="a"))
    at = text.index("# Admin requests were seen")
    assert all(line.startswith("#") or not line for line in text[at : text.index("[modes]")].split("\n"))
    assert "\n# # Public addresses: 1 of the networks\n# [principals" in text
    assert policy_of(text).principals == ()


LEFT = [
    (Sent("…", None, 0).event("not_granted"), "counted them together with those of others"),
    (Sent("10.0.0.1", "…", 0).event(), "counted them together with those of others"),
    (sent("10.0.0.1", 9999).event("no_class"), "their codes have no class"),
    (sent("20010db800000000", 105).event(), "their senders have no IP address"),
    (sent("10.0.0.1", 105, "k" * 201).event(), "has more than 200 bytes"),
    (sent("10.0.0.1", 103, brokerName="b" * 201).event(), "has more than 200 bytes"),
    (sent("10.0.0.1", 103).event(), "is missing, empty, or no valid Unicode"),
    (sent("10.0.0.1", 103, brokerName="\ud800").event(), "is missing, empty, or no valid Unicode"),
    (sent("10.0.0.1", 101, namespace="").event(), "is missing, empty, or no valid Unicode"),
    (LOOKUP.event("too_many"), "they were refused for another reason"),
]


@pytest.mark.parametrize(("event", "why"), LEFT, ids=range(len(LEFT)))
def test_what_no_policy_can_say_is_left_out_and_told(access: Run, tmp_path: Path, event: object, why: str) -> None:
    text = suggested(access, journal(tmp_path, lines([event])))  # type: ignore[list-item]
    (said,) = [line for line in text.split("\n") if line.startswith("# Left out: 1 requests: ")]
    assert why in said
    assert policy_of(text).principals == ()


def test_lines_that_are_no_record_are_counted(access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "LINE_BYTES_MAX", 1024)
    wrong = [b'{"refused"', b'{"boot":1,"seq":1,"ts":1,"ev":"refused","n":"x"}', b'"refused"' * 1000,
             b'{"boot":1,"seq":1,"ts":1,"ev":"down","cause":"refused"}', b"\xff", b""]  # fmt: skip
    content = b"\n".join([*wrong, lines([LOOKUP.event()])])
    text = suggested(access, journal(tmp_path, content + b'{"boot":1,"ev":"refused"'))
    assert "# Left out: 2 lines that cannot be read" in text
    assert "It allows what 1 requests asked for" in text


@pytest.mark.parametrize(("name", "value", "left"), [
    ("SENDERS_MAX", 2, "there were more than"), ("TEXTS_MAX", 3, "names of a sender, or"),
    ("TEXTS_OF_SENDER_MAX", 1, "names of a sender, or"),
])  # fmt: skip
def test_memory_is_bounded(
    access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, left: str
) -> None:
    monkeypatch.setattr(refusals, name, value)
    names = [sent(f"10.0.0.{number}", 103, brokerName=f"b{number}", brokerAddr="h:1") for number in range(4)]
    more = [sent("10.0.0.0", 103, brokerName="another", brokerAddr="h:1")]
    text = of(access, tmp_path, *names, *more)
    assert left in text
    assert "# Left out: 2 requests" in text or "# Left out: 1 requests" in text
    assert 1 <= len(policy_of(text).principals) <= 4
