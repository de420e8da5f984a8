"""A server with a policy: which requests it answers, by keys, certificates, networks and rates, and what it records."""

from __future__ import annotations

import gc
import os
import signal
import textwrap
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from rocketns.access.classes import Access, Mode
from rocketns.access.guard import AccessVerdict, Guard, PrincipalRates
from rocketns.access.policy import OPEN
from rocketns.access.policy_file import read_policy
from rocketns.access.principal import Principal
from rocketns.protocol.codes import RequestCode
from rocketns.protocol.command import RemotingCommand
from tests.access.signing import signed
from tests.processor.asking import Connection
from tests.support.certificates import Files, Identity, authority
from tests.support.inprocess import TimedServer
from tests.support.policies import whole
from tests.support.starting import stopped_after
from tests.support.tlsclient import TlsClient, any_server
from tests.support.tlsfiles import as_options, verifying

POLICY = """
[modes]
lookup = "enforce"
read = "enforce"
broker = "enforce"
admin = "enforce"

[keys.k1]
secret = "a secret of the test"

[principals.nobody]
keys = ["k1"]
may = ["lookup"]
"""
StartGuarded = Callable[..., NameServer]
ONEWAY, RESPONSE = 2, 1
REFUSED = 16
BODY = register_body([topic_config("T"), topic_config("U")])
KV = {"namespace": "n", "key": "k", "value": "v"}
WIPE = {"brokerName": "b"}


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    return tmp_path / "access.toml"


@pytest.fixture
def start_guarded(
    server_class: type[NameServer], tmp_path: Path, policy_file: Path, request: pytest.FixtureRequest
) -> StartGuarded:
    """Start a rocketns with a policy: ``start_guarded(text, properties, options=…)``; stopped after the test."""

    def start(policy: str, properties: dict[str, object] | None = None, **more: object) -> NameServer:
        write_policy(policy_file, policy)
        settings = {"rocketns.accessFile": policy_file} | (properties or {})
        return server_class(tmp_path / "ns", settings, **more)  # type: ignore[arg-type]

    return stopped_after(request, start)


def write_policy(path: Path, text: str) -> None:
    """In one step, as editors and Kubernetes do."""
    new = path.with_suffix(".new")
    new.write_text(whole(textwrap.dedent(text)), "utf-8")
    new.replace(path)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TimedServer]:
    """It refuses everything that is not signed."""
    policy = tmp_path / "access.toml"
    policy.write_text(whole(POLICY), "utf-8")
    with TimedServer(tmp_path, {"rocketns.accessFile": policy}) as started:
        yield started


def refused(server: TimedServer) -> int:
    guard = server.controller.core.context.guard
    return server.call(lambda: sum(n for one, n in guard.decisions.items() if one.reason and one.mode is Mode.ENFORCE))


@pytest.fixture
def client(server: TimedServer) -> Iterator[Client]:
    with server.connect() as connection:
        yield connection


@pytest.mark.parametrize("code", [codes.PUT_KV_CONFIG, codes.REGISTER_BROKER, codes.GET_ROUTEINFO_BY_TOPIC])
def test_a_refused_oneway_request_gets_nothing_and_does_nothing(server: TimedServer, client: Client, code: int) -> None:
    client.post(code, KV | {"topic": "T"}, flag=ONEWAY)
    assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == codes.NO_PERMISSION  # the first answer is to this one
    assert refused(server) == 2
    assert server.call(lambda: server.controller.core.context.kv_config.namespace("n")) is None


@pytest.mark.parametrize("key", ["k1", "unknown", None])
@pytest.mark.parametrize("code", [codes.GET_ROUTEINFO_BY_TOPIC, codes.PUT_KV_CONFIG])
def test_a_frame_that_says_it_is_an_answer_is_not_a_request(
    server: TimedServer, client: Client, key: str | None, code: int
) -> None:
    """Nobody asked the peer for anything. Its key is not looked at, and nothing is refused or answered."""
    client.post(code, KV | {"topic": "T"} | ({} if key is None else {"AccessKey": key}), flag=RESPONSE)
    assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == codes.NO_PERMISSION
    assert refused(server) == 1


def test_in_cluster_test_mode_every_code_asks_for_a_route(start_guarded: StartGuarded) -> None:
    with start_guarded(ONE_PRINCIPAL.format(networks=["192.0.2.0/24"]), {"clusterTest": "true"}).connect() as client:
        assert [client.request(code, {"topic": "T"}).code for code in (105, 106, 205, 9_999)] == [REFUSED] * 4


def test_a_signed_request_beyond_the_rate_is_told_so(tmp_path: Path) -> None:
    """Its body, which the signature covers, was dropped when it was refused."""
    policy = tmp_path / "access.toml"
    policy.write_text(whole(POLICY.replace('["lookup"]', '["broker"]')), "utf-8")
    limited = {"rocketns.accessFile": policy, "rocketns.hostRequestsPerSecond": 1}
    ext = signed(register_ext(body=BODY), BODY, key="k1", secret="a secret of the test")
    with TimedServer(tmp_path, limited) as server, server.connect() as client:
        answers = [client.request(codes.REGISTER_BROKER, ext, BODY).code for _ in range(20)]
        assert (answers[0], answers[-1]) == (codes.SUCCESS, codes.SYSTEM_BUSY)
        assert refused(server) == 0


# What a server answers with a policy, by the mode of a request's class.

FLEET = """
    [modes]
    lookup = "{mode}"
    read = "{mode}"
    scan = "{mode}"
    config = "{mode}"
    broker = "{mode}"
    admin = "{mode}"
    [principals.fleet]
    networks = ["127.0.0.1"]
    may = ["lookup", "read", "scan", "config", "broker", "admin"]
"""


def stranger(server: NameServer) -> Client:
    """A peer from an address of which the policy says nothing."""
    return Client(server.port, source="127.0.0.2")


def test_lookup_of_a_stranger_is_refused_though_its_route_is_published(start_guarded: StartGuarded) -> None:
    text = FLEET.format(mode="off").replace('lookup = "off"', 'lookup = "enforce"')
    server = start_guarded(text)
    body = register_body([topic_config("T"), topic_config("U")])
    with server.connect() as broker, stranger(server) as unknown:
        assert broker.request(103, register_ext("C", "b", "127.0.0.1:10911", 0, body), body).code == 0
        assert broker.request(105, {"topic": "T"}).code == 0
        assert unknown.request(105, {"topic": "T"}).code == REFUSED


def test_connection_of_a_stranger_is_closed_where_it_could_do_nothing(start_guarded: StartGuarded) -> None:
    server = start_guarded(FLEET.format(mode="enforce"))
    with server.connect() as known, stranger(server) as unknown:
        assert known.request(106).code == 0
        assert unknown.is_closed_by_server()


# Reactors and control decide the same of a network.

ONE_PRINCIPAL = """
    [modes]
    lookup = "enforce"
    [principals.p]
    networks = {networks}
    may = ["lookup"]
"""


@pytest.mark.parametrize(("network", "code"), [("::/0", REFUSED), ("::ffff:0:0/96", codes.TOPIC_NOT_EXIST)])
def test_an_ipv4_peer_is_in_networks_of_ipv4_alone(start_guarded: StartGuarded, network: str, code: int) -> None:
    with start_guarded(ONE_PRINCIPAL.format(networks=[network])).connect() as client:
        assert [client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code for _ in range(2)] == [code, code]


# Principals that are known by the certificate of their TLS connection.

POLICY_CERTIFICATES = """
    [modes]
    admin = "enforce"
    [principals.operator]
    certificates = ["CN=operator*"]
    may = ["admin"]
"""


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


def wipe(server: NameServer, files: Files | None) -> int:
    """The answer's code."""
    with TlsClient(server.port, context=any_server(files)) as client:
        return client.request(205, {"brokerName": "b"}).code


@pytest.mark.parametrize(("auth", "expected"), [("true", 0), ("false", REFUSED)])
def test_holder_of_a_verified_certificate_may_what_its_subject_may(
    start_guarded: StartGuarded, tmp_path: Path, ours: Identity, auth: str, expected: int
) -> None:
    """With tls.server.authClient=false any certificate is taken, also one that a peer made itself (B075)."""
    options = as_options(verifying(tmp_path / "server", ours, verifies=auth == "true"))
    server = start_guarded(POLICY_CERTIFICATES, options=options)
    assert wipe(server, Files.write(tmp_path / "a", ours.issue("operator-1"))) == expected
    assert wipe(server, Files.write(tmp_path / "b", ours.issue("client"))) == REFUSED
    assert wipe(server, None) == REFUSED
    if auth == "false":
        assert wipe(server, Files.write(tmp_path / "c", authority("others").issue("operator-1"))) == REFUSED


# The rate of a principal: how many of its requests are answered in a second.

BUSY = 2
POLICY_RATES = """
    [modes]
    lookup = "{mode}"
    [keys.rocketmq]
    secret = "12345678"
    [principals.clients]
    keys = ["rocketmq"]
    may = ["lookup"]
    requests_per_second = 1
"""


SHARED = """
[modes]
lookup = "enforce"
broker = "enforce"
[principals.everybody]
networks = ["0.0.0.0/0"]
may = ["lookup", "broker"]
requests_per_second = 10
[principals.fleet]
networks = ["10.9.9.0/24"]
may = ["broker"]
"""


def taken(rates: PrincipalRates, name: str, times: int, now_ms: int, rate: int | None = 4) -> int:
    """How many of the requests get a token."""
    principal = Principal(name, frozenset({Access.LOOKUP}), requests_per_second=rate)
    return sum(rates.spend([principal], now_ms) for _ in range(times))


def test_principal_has_a_burst_of_one_second_and_then_its_rate() -> None:
    rates = PrincipalRates()
    assert [taken(rates, "p", 10, now_ms) for now_ms in (1_000, 1_249, 1_500, 60_000)] == [4, 0, 2, 4]
    assert taken(rates, "q", 10, 60_000) == 4
    assert taken(rates, "without", 1_000, 60_000, rate=None) == 1_000


@pytest.mark.parametrize("own", ["", "requests_per_second = 40"])
def test_a_stranger_does_not_use_up_the_rate_of_who_has_a_right_of_his_own(own: str) -> None:
    """Though the policy names everybody first, and the fleet is everybody too."""
    guard = Guard(read_policy("access.toml", whole(SHARED + own), lambda _: ""))
    stranger, broker = Connection("192.0.2.1:1", host="192.0.2.1"), Connection("10.9.9.9:1", host="10.9.9.9")
    lookup = RemotingCommand(RequestCode.GET_ROUTEINFO_BY_TOPIC, 513, 1, 0, {"topic": "T"}, None)
    registration = RemotingCommand(RequestCode.REGISTER_BROKER, 513, 1, 0, register_ext(), None)
    assert [guard.ask(stranger, lookup, Access.LOOKUP, 0).error is None for _ in range(40)] == [True] * 10 + [
        False
    ] * 30
    assert all(guard.ask(broker, registration, Access.BROKER, 0).error is None for _ in range(40))


@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_lookups_beyond_the_rate_are_answered_busy_though_their_signature_is_known(
    start_guarded: StartGuarded, mode: str
) -> None:
    with start_guarded(POLICY_RATES.format(mode=mode)).connect() as client:
        first, *others = [client.request(105, signed({"topic": "T"})) for _ in range(20)]
    busy = [answer.remark or "" for answer in others if answer.code == BUSY]
    assert first.code != BUSY
    assert bool(busy) is (mode == "enforce")
    assert all("more requests in a second" in remark for remark in busy)


# What the guard says of who sent a request, for the records of it.

POLICY_GUARD = """
    [modes]
    admin = "{mode}"
    [principals.fleet]
    networks = ["10.9.9.0/24"]
    may = ["admin"]
    [principals.operator]
    keys = ["rocketmq"]
    may = ["admin"]
    [keys.rocketmq]
    secret = "12345678"
"""


def judged(mode: str, fields: dict[str, str], host: str) -> AccessVerdict:
    guard = Guard(read_policy("access.toml", whole(POLICY_GUARD.format(mode=mode)), lambda _: ""))
    request = RemotingCommand(RequestCode.WIPE_WRITE_PERM_OF_BROKER, 513, 1, 0, dict(fields), None)
    return guard.ask(Connection(f"{host}:1", host=host), request, Access.ADMIN, 0)


@pytest.mark.parametrize(("mode", "host"), [("observe", "192.0.2.1"), ("enforce", "10.9.9.9"), ("observe", "10.9.9.9")])
@pytest.mark.parametrize("key", ["rocketmq", "x" * 100_000])
def test_a_key_that_a_signature_does_not_prove_is_not_the_sender(mode: str, host: str, key: str) -> None:
    """Any peer may name any key. Whoever is let pass would be told as the owner of that key."""
    verdict = judged(mode, signed(WIPE, key=key, secret="another one"), host)
    assert (verdict.error, verdict.access_key) == (None, None)


def test_what_would_be_refused_is_remembered_as_allowed_by_nobody() -> None:
    """Else a reactor would answer the further lookups, and nobody would be told of them. The peer has other rights."""
    policy = whole('[modes]\nlookup = "observe"\n[principals.p]\nnetworks = ["10.9.9.0/24"]\nmay = ["read"]\n')
    guard = Guard(read_policy("access.toml", policy, lambda _: ""))
    request = RemotingCommand(RequestCode.GET_ROUTEINFO_BY_TOPIC, 513, 1, 0, {"topic": "T"}, None)
    verdict = guard.ask(Connection("10.9.9.9:1", host="10.9.9.9"), request, Access.LOOKUP, 0)
    assert verdict.event is not None
    assert (verdict.error, verdict.depends_on_peer_alone, verdict.depends_on_bytes_alone) == (None, False, False)


def test_a_refusal_names_the_key_that_was_claimed_and_a_right_signature_is_the_senders() -> None:
    event = judged("enforce", signed(WIPE, secret="another one"), "192.0.2.1").event
    assert event is not None
    assert (event.access_key, event.reason) == ("rocketmq", "wrong_signature")
    verdict = judged("enforce", signed(WIPE), "192.0.2.1")
    assert (verdict.error, verdict.principals, verdict.access_key) == (None, ("operator",), "rocketmq")


def test_a_policy_that_ended_is_not_kept_by_connections() -> None:
    """It has the secrets of keys that may have been revoked. A client may stay for days without asking control."""
    guard, peer = (
        Guard(read_policy("access.toml", whole(POLICY_GUARD.format(mode="enforce")), lambda _: "")),
        Connection(),
    )
    request = RemotingCommand(RequestCode.WIPE_WRITE_PERM_OF_BROKER, 513, 1, 0, signed(WIPE), None)
    assert guard.ask(peer, request, Access.ADMIN, 0).error is None
    ended = weakref.ref(guard.policy)
    guard.policy = OPEN
    gc.collect()
    assert ended() is None


@pytest.mark.parametrize(
    ("socket_host", "told"), [("192.0.2.7", "192.0.2.7"), ("20010db800000001", "2001:db8:0:1::/64")]
)
def test_a_refusal_names_the_socket_of_a_peer_that_announced_itself(socket_host: str, told: str) -> None:
    """Any peer can write a PROXY header: it would be told as another, and as many others."""
    peer = Connection("10.9.9.9:1", host=socket_host, is_announced=True)
    policy = read_policy("access.toml", whole(POLICY_GUARD.format(mode="enforce")), lambda _: "")
    request = RemotingCommand(RequestCode.WIPE_WRITE_PERM_OF_BROKER, 513, 1, 0, WIPE, None)
    by_anybody = Guard(policy).ask(peer, request, Access.ADMIN, 0).event
    assert by_anybody is not None
    assert by_anybody.host == told
    assert Guard(policy).recorded_address(peer) == (told, told)
    assert Guard(policy, trusts_announced=True).recorded_address(peer) == ("10.9.9.9", "10.9.9.9:1")


# A policy that changes while the server runs.

OFF = """
    [modes]
    [principals.p]
    networks = ["192.0.2.0/24"]
    may = ["admin"]
"""
ENFORCED = OFF.replace("[modes]", '[modes]\n    admin = "enforce"')


def test_changed_policy_is_followed_by_open_connections(start_guarded: StartGuarded, policy_file: Path) -> None:
    server = start_guarded(OFF)
    with server.connect() as client:
        assert client.request(205, WIPE).code == 0
        write_policy(policy_file, ENFORCED)
        assert eventually(lambda: client.request(205, WIPE).code == REFUSED)
        write_policy(policy_file, ENFORCED.replace("192.0.2.0/24", "127.0.0.0/8"))
        assert eventually(lambda: client.request(205, WIPE).code == 0)


def test_wrong_policy_changes_nothing_and_its_line_is_logged_without_a_secret(
    start_guarded: StartGuarded, policy_file: Path
) -> None:
    keyed = ENFORCED + '\n    [keys.k]\n    secret = "not-to-be-seen"\n'
    server = start_guarded(keyed)
    with server.connect() as client:
        assert client.request(205, signed(WIPE, key="k", secret="wrong")).code == REFUSED
        assert b"not-to-be-seen" not in (client.request(319).body or b"")
        write_policy(policy_file, keyed + "    more = 1\n")
        os.kill(server.pid, signal.SIGHUP)
        server.process.wait_for(r"the policy stays as it was: .*access.toml, line \d+: keys.k.more")
        assert client.request(205, WIPE).code == REFUSED
    server.stop()
    assert "not-to-be-seen" not in server.process.text()
