"""Each metric moves with what happened on the wire; what Prometheus and other scrapers then get."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns import logs
from rocketns.admin import view
from rocketns.admin.metrics import exposition
from rocketns.admin.metrics.exposition import LABEL_CHARACTERS_MAX, SERIES_MAX
from rocketns.admin.metrics.table import THEMES, counter
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import OWN, Disagreement, FleetState, Member, Side
from rocketns.logs import LogWriter
from rocketns.server.control import control
from rocketns.server.http import connections
from tests.access.signing import signed
from tests.admin.conftest import V5_5_0, Broker, Managed
from tests.admin.http import Scraped
from tests.support.certificates import Files, authority
from tests.support.policies import whole
from tests.support.slowdisk import SlowDisk
from tests.support.tlsclient import TlsClient, any_server
from tests.support.tlsfiles import tls_properties

pytestmark = pytest.mark.usefixtures("no_old_numbers")

SECOND = 1_000
GROWS = float("inf")  # by any amount
TOKEN, OTHER = "token-of-scrape-0123456789", "token-of-probe-0123456789"
POLICY = """
[modes]
admin = "enforce"
read = "observe"
lookup = "enforce"
[keys.rocketmq]
secret = "12345678"
[principals.operators]
keys = ["rocketmq"]
may = ["admin", "lookup"]
"""
BOUNDS = """
[modes]
broker = "enforce"
[principals.here]
networks = ["127.0.0.0/8"]
may = ["broker"]
brokers_max = 1
"""


@dataclass
class MeteredWorld:
    """A server, a connection to it, and what ends with the test."""

    managed: Managed
    client: Client
    home: Path
    monkeypatch: pytest.MonkeyPatch
    stack: ExitStack

    def connect(self) -> Client:
        return self.stack.enter_context(self.managed.connect())

    def broker(self, name: str = "a", number: int = 0, **more: str) -> Broker:
        return self.stack.enter_context(Broker(self.managed, name, number, **more))  # type: ignore[arg-type]

    def look_up(self, topic: str, count: int = 1) -> None:
        for _ in range(count):
            self.client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})

    def put_kv(self, key: str, value: str = "v") -> int:
        return self.client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": key, "value": value}).code

    def send_and_read_all(self, data: bytes) -> None:
        """On a connection of its own, until the server closes it."""
        with self.managed.connect() as peer, suppress(ConnectionError):
            peer.send(data)
            while peer.socket.recv(4096):
                pass


@dataclass(frozen=True)
class MetricMove:
    """What happens, and by how much each sample moves: ``name label=value …``."""

    act: Callable[[MeteredWorld], object]
    moves: dict[str, float]
    properties: dict[str, object] = field(default_factory=dict)


SCENES: dict[str, MetricMove] = {}


def moving(moves: dict[str, float], **properties: object) -> Callable[[Callable[[MeteredWorld], object]], None]:
    """A scene of the table. ``{home}`` in a property is a folder; an underscore in a name is a dot."""

    def note(act: Callable[[MeteredWorld], object]) -> None:
        SCENES[act.__name__] = MetricMove(act, moves, properties)

    return note


@moving({
    "rocketns_lookups_total by=reactors result=found": 5,
    "rocketns_lookups_total by=reactors result=missing": 1,
    "rocketns_requests_total code=GET_ROUTEINFO_BY_TOPIC result=SUCCESS": 5,
    "rocketns_requests_total code=GET_ROUTEINFO_BY_TOPIC result=TOPIC_NOT_EXIST": 1,
    "rocketns_requests_total code=REGISTER_BROKER result=SUCCESS": 1,
    "rocketns_request_duration_seconds_count code=REGISTER_BROKER result=SUCCESS": 1,
    "rocketns_request_duration_seconds_sum code=REGISTER_BROKER result=SUCCESS": GROWS,
    "rocketns_control_turn_duration_seconds_count": GROWS,
})  # fmt: skip
def lookups(world: MeteredWorld) -> None:
    world.broker().register(["T"])
    world.look_up("T", 5)
    world.look_up("no such topic")


@moving({"rocketns_lookup_duration_seconds_count result=found": GROWS})
def lookups_of_which_one_in_64_is_measured(world: MeteredWorld) -> None:
    """A sample is taken after 95 rounds at most."""
    world.broker().register(["T"])
    world.look_up("T", 100)


@moving({"rocketns_lookups_total by=control result=missing": 1})
def a_lookup_that_reactors_leave_to_control(world: MeteredWorld) -> None:
    """Of a topic with characters that need escaping."""
    world.look_up('a"b\\')


@moving({"rocketns_missing_topics": 1})
def a_lookup_of_a_topic_that_nobody_has(world: MeteredWorld) -> None:
    world.look_up("nobody has it")
    world.managed.advance(SECOND)
    world.managed.advance(SECOND)


@moving({
    "rocketns_admin_requests_total code=DELETE_TOPIC_IN_NAMESRV result=SUCCESS": 1,
    "rocketns_admin_requests_total code=PUT_KV_CONFIG result=SYSTEM_ERROR": 1,
})  # fmt: skip
def requests_of_administrators(world: MeteredWorld) -> None:
    """Repeated ones are counted once."""
    for _ in range(3):
        world.client.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "nope"})
    world.client.request(codes.PUT_KV_CONFIG, {"key": "no namespace"})


@moving({
    "rocketns_registrations_total result=changed": 1,
    "rocketns_registrations_total result=unchanged": 2,
    "rocketns_registrations_total result=refused": 1,
})  # fmt: skip
def registrations(world: MeteredWorld) -> None:
    """One that is new, its body twice again, and another broker's with the same id and an older version."""
    body = register_body([topic_config("T"), topic_config("U")], data_version(5, 5))
    old = register_body([topic_config("T"), topic_config("U")], data_version(1, 1, -1))
    for addr, one in (("10.0.0.1:1", body), ("10.0.0.1:1", body), ("10.0.0.1:1", body), ("10.0.0.2:1", old)):
        world.client.request(codes.REGISTER_BROKER, register_ext(addr=addr, body=one), one, version=V5_5_0)


@moving({
    "rocketns_brokers state=live": 2, "rocketns_broker_groups": 2, "rocketns_clusters": 2, "rocketns_topics": 5,
    "rocketns_routes_held": GROWS, "rocketns_kv_bytes": GROWS,
    "rocketns_route_entries_changed_total change=put": 9, "rocketns_route_entries_changed_total change=deleted": 3,
    "rocketns_route_bytes of=reactors": GROWS,
    "rocketns_brokers_gone_total cause=unregister": 1,
})  # fmt: skip
def tables(world: MeteredWorld) -> None:
    world.broker("a").register(["T"])
    world.broker("b", cluster="C2", addr="10.0.0.2:1").register(["T"])
    gone = world.broker("c", addr="10.0.0.3:1").register(["T"])
    gone.unregister()
    assert world.put_kv("k") == codes.SUCCESS
    world.client.request(codes.UPDATE_NAMESRV_CONFIG, body=b"enableTopicList=false\n")


@moving({"rocketns_brokers state=late": 1, "rocketns_broker_heartbeat_gap_seconds_bucket le=65": 1})
def a_silent_broker_and_one_that_came_back(world: MeteredWorld) -> None:
    world.broker("a").register()
    other = world.broker("b", addr="10.0.0.2:1").register()
    for _ in range(61):
        world.managed.advance(SECOND)
    other.register()
    for _ in range(6):
        world.managed.advance(SECOND)


@moving({"rocketns_brokers_doubted_total": 2, "rocketns_brokers state=unconfirmed": 2},
        rocketns_massExpiryPercent=50, rocketns_askUnconfirmed="false")  # fmt: skip
def brokers_that_would_expire_together(world: MeteredWorld) -> None:
    for number in (1, 2):
        world.broker(f"b{number}", addr=f"10.0.0.{number}:1").register(heartbeatTimeoutMillis=20 * SECOND)
    for _ in range(40):
        world.managed.advance(SECOND)


@moving({"rocketns_tables_full_total": 3}, rocketns_routesMax=3)
def registrations_that_find_no_room(world: MeteredWorld) -> None:
    world.broker().register(["T"])
    for _ in range(3):
        body = register_body([topic_config("U"), topic_config("V")])
        fields = register_ext(broker="b", addr="10.0.0.2:1", body=body)
        assert world.client.request(codes.REGISTER_BROKER, fields, body).code == codes.SYSTEM_ERROR


@moving({
    "rocketns_connections_opened_total transport=plain": 2, "rocketns_connections transport=plain": 0,
    "rocketns_connections_closed_total reason=malformed_frame": 1, "rocketns_connections_closed_total reason=peer": 1,
})  # fmt: skip
def connections_that_end(world: MeteredWorld) -> None:
    world.send_and_read_all(b"\x00\x00\x00\x01" + bytes(20))
    with world.managed.connect() as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)


@moving({"rocketns_connections transport=plain": 1, "rocketns_connection_bytes direction=incoming": GROWS})
def an_unfinished_frame(world: MeteredWorld) -> None:
    world.connect().send(frame(json_header(codes.GET_BROKER_CLUSTER_INFO), b"b" * 50_000)[:40_000])


@moving({
    "rocketns_beyond_rates_total reason=host_requests_per_second": 4,
    "rocketns_beyond_rates_total reason=host_connections_per_second": 1,
    "rocketns_connections_closed_total reason=host_connections_per_second": 1,
}, rocketns_hostRequestsPerSecond=2, rocketns_hostConnectionsPerSecond=3)  # fmt: skip
def more_than_a_host_may_have_in_a_second(world: MeteredWorld) -> None:
    """The connection of the test has had one request, and is the first of three."""
    world.look_up("T", 5)
    for _ in range(2):
        world.connect()
    assert world.connect().is_closed_by_server()


@moving({
    "rocketns_tls_handshakes_total result=succeeded": 1, "rocketns_tls_handshakes_total result=failed": 1,
    "rocketns_tls_handshake_seconds_total": GROWS, "rocketns_tls_certificate_not_after_timestamp_seconds": GROWS,
})  # fmt: skip
def tls_handshakes(world: MeteredWorld) -> None:
    """One fails. The server reads at least the length of a PROXY header's beginning first (B054)."""
    world.stack.enter_context(TlsClient(world.managed.port)).request(codes.GET_BROKER_CLUSTER_INFO)
    world.send_and_read_all(b"\x16\x03\x01\x00\x20" + bytes(32))


@moving({
    "rocketns_access_decisions_total class=admin mode=enforce reason= key=rocketmq": 1,
    "rocketns_access_decisions_total class=admin mode=enforce reason=no_evidence key=": 1,
    "rocketns_access_decisions_total class=admin mode=enforce reason=unknown_key key=unknown": 2,
    "rocketns_access_decisions_total class=read mode=observe reason=no_evidence key=": 1,
    "rocketns_lookups_allowed_total": 2,
}, rocketns_accessFile="{home}/enforce.toml")  # fmt: skip
def decisions_of_a_policy(world: MeteredWorld) -> None:
    """A signed lookup is allowed by control once, and then by a reactor."""
    world.client.request(205, signed({"brokerName": "b"}))
    world.client.request(205, {"brokerName": "b"})
    for key in ("a", "b"):
        world.client.request(205, signed({"brokerName": "b"}, key=key))
    world.client.request(codes.GET_BROKER_CLUSTER_INFO)
    for _ in range(3):
        world.client.send(frame(json_header(codes.GET_ROUTEINFO_BY_TOPIC, signed({"topic": "T"}))))
        assert world.client.receive().code == codes.TOPIC_NOT_EXIST


@moving({"rocketns_beyond_bounds_total mode=enforce": 1}, rocketns_accessFile="{home}/bounds.toml")
def a_registration_beyond_the_bounds_of_a_principal(world: MeteredWorld) -> None:
    world.broker("a").register()
    body = register_body([topic_config("T"), topic_config("U")])
    fields = register_ext(broker="b", addr="10.0.0.2:1", body=body)
    assert world.client.request(codes.REGISTER_BROKER, fields, body).code == codes.SYSTEM_BUSY


@moving({"rocketns_control_slow_turns_total": GROWS})
def a_slow_turn(world: MeteredWorld) -> None:
    world.monkeypatch.setattr(control, "SLOW_NS", 0)
    world.client.request(codes.GET_BROKER_CLUSTER_INFO)


@moving({"rocketns_stalls_total": 1, "rocketns_stalled_seconds_total": 300})
def a_stall(world: MeteredWorld) -> None:
    """One that nobody waited for is none."""
    world.broker().register()
    world.managed.advance(SECOND)
    world.managed.advance(300 * SECOND)


@moving({"rocketns_queue_length queue=files": 1})
def a_change_that_waits_for_the_disk(world: MeteredWorld) -> None:
    disk = SlowDisk(world.monkeypatch)
    world.client.send(frame(json_header(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": "v"})))
    disk.wait_for_write()
    world.stack.callback(disk.go_on, 2)


@moving({"rocketns_file_write_failures_total": 1, "rocketns_queue_length queue=files": 0})
def a_file_that_cannot_be_written(world: MeteredWorld) -> None:
    (world.home / "kv.json").mkdir()
    assert world.put_kv("k") == codes.SYSTEM_ERROR


@moving({"rocketns_journal_records_total": GROWS, "rocketns_journal_written_bytes_total": GROWS,
         "rocketns_journal_dropped_records_total": 0}, journalPath="{home}/journal")  # fmt: skip
def records_of_the_journal(world: MeteredWorld) -> None:
    world.broker().register()
    world.managed.advance(2 * SECOND)


@moving({"rocketns_admin_connections_closed_total reason=late": 1})
def a_header_that_does_not_end(world: MeteredWorld) -> None:
    world.monkeypatch.setattr(connections, "HEADER_WITHIN_S", 0.3)
    assert world.managed.http.raw(b"GET /livez HTTP/1.1\r\nX-Slow: ") == b""
    world.monkeypatch.setattr(connections, "HEADER_WITHIN_S", 60.0)


@moving({"rocketns_ready": -1, "rocketns_draining": 1})
def a_drain(world: MeteredWorld) -> None:
    world.managed.http.ask("/drainz", "POST", {"X-Rocketns-Change": "yes"})


@moving({
    "rocketns_fleet_name_servers state=readable": 2, "rocketns_fleet_name_servers state=unreadable": 1,
    "rocketns_fleet_disagreements kind=broker": 1, "rocketns_fleet_disagreements kind=topic": 0,
})  # fmt: skip
def name_servers_that_disagree(world: MeteredWorld) -> None:
    here, other = Member(OWN, "rocketns", "", 1, 9, 2, 7), Member("a:1", "other", "", 2, 9, 1, 7, differing_brokers=1)
    dead = Member("b:1", "", "connecting to b:1 failed", 3, None, None, None)
    sides = (Side("0=10.1.0.2:10911", (OWN,)), Side("missing", ("a:1",)))
    differing = (Disagreement(FactKind.BROKER, "b", 5, sides),)
    world.managed.controller.fleet.state = FleetState(9, (here, other, dead), differing)


def sample(seen: Scraped, text: str) -> float:
    """A sample that there is not yet counts as 0."""
    name, *labels = text.split(" ")
    return seen(name, **dict(one.split("=", 1) for one in labels)) or 0.0


@pytest.mark.parametrize("name", SCENES)
def test_each_metric_moves_with_what_happened(
    start_managed: Callable[..., Managed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    scene = SCENES[name]
    (tmp_path / "enforce.toml").write_text(whole(POLICY), "utf-8")
    (tmp_path / "bounds.toml").write_text(whole(BOUNDS), "utf-8")
    given = {key.replace("_", "."): str(value).format(home=tmp_path) for key, value in scene.properties.items()}
    managed = start_managed(given)
    with ExitStack() as stack:
        client = stack.enter_context(managed.connect())
        client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"})
        before = managed.scrape()
        scene.act(MeteredWorld(managed, client, tmp_path, monkeypatch, stack))

        def moved() -> dict[str, float]:
            seen = managed.scrape()
            found = {one: sample(seen, one) - sample(before, one) for one in scene.moves}
            return {one: GROWS if scene.moves[one] == GROWS and by > 0 else by for one, by in found.items()}

        try:
            eventually(lambda: moved() == scene.moves)
        except AssertionError:
            assert moved() == scene.moves


@contextmanager
def standing_still(managed: Managed) -> Iterator[None]:
    """Blocks control until the block ends."""
    begun, ended = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        ended.wait(60)

    managed.loop.call_soon_threadsafe(wait)
    assert begun.wait(60)
    try:
        yield
    finally:
        ended.set()


def test_control_that_stands_still_is_shown_with_what_waits_for_it(
    managed: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as there is a copy of the tables. Making a new one needs control."""
    request = frame(json_header(codes.GET_BROKER_CLUSTER_INFO))
    with managed.connect() as client:
        client.request(codes.GET_BROKER_CLUSTER_INFO)
        monkeypatch.setattr(view, "COPY_AGE_S", 600.0)
        assert managed.scrape()("rocketns_queue_bytes", queue="reactors") == 0
        with standing_still(managed):
            client.send(request)
            eventually(lambda: (managed.scrape()("rocketns_queue_bytes", queue="reactors") or 0) >= len(request))
            waited_s = managed.scrape()("rocketns_control_idle_seconds") or 0.0
            eventually(lambda: (managed.scrape()("rocketns_control_idle_seconds") or 0.0) > waited_s)
        assert client.receive().code == codes.SUCCESS
        seen = managed.scrape()
        assert [seen("rocketns_queue_bytes", queue=one) for one in ("reactors", "requests")] == [0, 0]


def test_what_a_start_took_and_restored_is_shown(tmp_path: Path) -> None:
    class Slow(Managed):
        async def _start(self) -> None:
            self.clock.advance(3 * SECOND)
            await super()._start()

    journal = {"journalPath": tmp_path / "j", "journalNs": "n", "rocketns.askUnconfirmed": "false"}
    before = Managed(tmp_path, journal)
    with Broker(before, "a") as broker:
        broker.register()
        before.stop()
    after = Slow(tmp_path, journal)
    seen = after.scrape()
    after.stop()
    assert (seen("rocketns_restored_brokers"), seen("rocketns_start_duration_seconds")) == (1, 3)


class NotRead(logging.Handler):
    """A log whose reader reads nothing until `is_read` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = threading.Event()

    def emit(self, _: logging.LogRecord) -> None:
        assert self.is_read.wait(60)


def test_log_lines_that_nobody_reads_are_shown_and_those_that_are_dropped_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "WAITING_RECORDS_MAX", 2)
    handler = NotRead()
    writer = LogWriter(handler)
    line = logging.LogRecord("rocketns", logging.INFO, "", 0, "a line", None, None)
    writer.emit(line)
    eventually(lambda: not writer.waiting)  # it is being written
    for _ in range(5):
        writer.emit(line)
    managed = Managed(tmp_path, log=writer)
    seen = managed.scrape()
    managed.stop()
    handler.is_read.set()
    writer.stop()
    assert [seen("rocketns_log_dropped_records_total"), seen("rocketns_queue_length", queue="log")] == [3, 2]


def test_a_journal_that_cannot_be_written_is_shown(start_managed: Callable[..., Managed], tmp_path: Path) -> None:
    (tmp_path / "j").write_text("a file where a folder should be", "utf-8")
    managed = start_managed({"journalPath": tmp_path / "j" / "deeper", "journalBufferBytes": 65_536})
    with managed.connect() as client:
        for number in range(100):
            fields = {"namespace": "ns", "key": f"key {number}", "value": "v" * 1_000}
            assert client.request(codes.PUT_KV_CONFIG, fields).code == codes.SUCCESS
    eventually(lambda: managed.scrape()("rocketns_journal_failing") == 1)
    seen = managed.scrape()
    assert (seen("rocketns_journal_write_failures_total") or 0) >= 1
    assert (seen("rocketns_journal_waiting_bytes") or 0) > 0
    assert (seen("rocketns_journal_dropped_records_total") or 0) > 30


def test_tls_files_that_cannot_be_used_are_counted(start_managed: Callable[..., Managed], tmp_path: Path) -> None:
    files = Files.write(tmp_path / "tls", authority("tests").issue("first"))
    managed = start_managed(dict(tls_properties(files)))
    assert managed.scrape()("rocketns_tls_reload_failures_total") == 0
    for file in (files.certificate, files.key):
        file.write_text("no certificate", "utf-8")
    managed.call(managed.controller.tls.check_files)
    eventually(lambda: managed.scrape()("rocketns_tls_reload_failures_total") == 1)


def test_refused_requests_and_wrong_files_of_tokens_are_counted(
    start_managed: Callable[..., Managed], tmp_path: Path
) -> None:
    """The port looks at the file by itself too, so it may be counted twice."""
    file = tmp_path / "tokens"
    file.write_text(f"scrape {TOKEN}\nprobe {OTHER}\n")
    managed = start_managed({"rocketns.adminTokensFile": file})

    def ask(token: str) -> str:
        return managed.http.ask("/metrics", headers={"Authorization": f"Bearer {token}"} if token else {}).text

    for token in ("", "", "", "x" * 20, "x" * 20, OTHER):
        ask(token)
    seen = Scraped(ask(TOKEN))
    reasons = ("no_token", "wrong_token", "wrong_class")
    assert [seen("rocketns_admin_requests_refused_total", reason=one) for one in reasons] == [3, 2, 1]
    name = "rocketns_admin_tokens_reload_failures_total"
    assert seen(name) == 0
    file.write_text("scrape")
    assert managed.admin is not None
    managed.admin.reread()
    eventually(lambda: (Scraped(ask(TOKEN))(name) or 0) >= 1)


def test_handshakes_of_the_management_port_are_counted(start_managed: Callable[..., Managed]) -> None:
    managed = start_managed({"rocketns.adminTls": "true"})
    with managed.http.connect() as nonsense:
        nonsense.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while nonsense.recv(100):
            pass
    with any_server().wrap_socket(managed.http.connect()) as peer:
        peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        got = b""
        while part := peer.recv(65_536):
            got += part
    seen = Scraped(got.partition(b"\r\n\r\n")[2].decode())
    results = ("succeeded", "failed")
    assert [seen("rocketns_admin_tls_handshakes_total", result=one) for one in results] == [1, 1]


def test_what_does_not_move_is_shown(managed: Managed) -> None:
    seen = managed.scrape()
    assert seen("rocketns_limit", limit="connectionsMax")
    assert seen("rocketns_admin_connections") == 1
    assert [value for (name, _), value in seen.samples.items() if name == "rocketns_build_info"] == [1]


def test_views_show_what_they_map_and_how_often_they_are_asked(
    start_managed: Callable[..., Managed], tmp_path: Path
) -> None:
    path = tmp_path / "views.toml"
    text = '[views.out]\nnetworks = ["127.0.7.0/24"]\n[views.out.addresses]\n"broker-a/0" = "h:1"\n'
    path.write_text(text, "utf-8")
    managed = start_managed({"rocketns.viewsFile": path})
    with Broker(managed, "broker-a") as broker, Broker(managed, "broker-b", addr="10.0.0.2:1") as other:
        broker.register(["T", "U"])
        other.register(["T", "U"])
        with Client(managed.port, source="127.0.7.1") as client:
            assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code == 0
            path.write_text('[views.other]\nlisten = "127.0.0.1:1"\n' + text, "utf-8")
            managed.advance(1_000)
            managed.advance(1_000)
            eventually(lambda: len(managed.controller.views_file.views) == 2, every_s=0.001)
            assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}).code == 0
            body = register_body([topic_config("T"), topic_config("U")])
            fields = register_ext(broker="broker-c", addr="10.0.0.3:1", body=body)
            assert client.request(codes.REGISTER_BROKER, fields, body).code == 0
            assert managed.scrape()("rocketns_view_lookups_total", view="out") == 2
            rows = orjson.loads(managed.http.ask("/api/v1/views").body)["items"]
            assert [(row["view"], row["rules"], row["lookups"]) for row in rows] == [("other", 0, 0), ("out", 1, 2)]
            assert rows[1]["bytes"] > rows[0]["bytes"] > 0
            reasons = orjson.loads(managed.http.ask("/api/v1/status").body)["reasons"]
            assert [one["names"] for one in reasons if one["name"] == "viewed"] == [["broker-c"]]


def test_each_metric_is_moved_by_a_test() -> None:
    here = Path(__file__).read_text("utf-8")
    names = [family.name for theme in THEMES.values() for family in theme]
    assert [name for name in names if name not in here] == []


def test_names_and_codes_that_peers_choose_make_no_labels(managed: Managed) -> None:
    with managed.connect() as client, Broker(managed, "a") as first:
        first.register()
        before = len(managed.scrape().samples)
        for code in range(20_000, 20_300):
            client.request(code)
        for number in range(20):
            body = register_body([topic_config(f"T{number}"), topic_config("U")])
            fields = register_ext(broker=f"b{number}", addr=f"a:{number}", body=body)
            client.request(codes.REGISTER_BROKER, fields, body)
            client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": f"none {number}"})
        seen = managed.scrape()
    assert seen("rocketns_requests_total", code="other", result="REQUEST_CODE_NOT_SUPPORTED") == 300
    assert len(seen.samples) - before < 120


def test_a_family_with_too_many_series_or_too_long_a_label_is_cut_and_that_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = ("x" * LABEL_CHARACTERS_MAX, "x" * (LABEL_CHARACTERS_MAX + 1))
    long = counter("long_total", "?", lambda _: dict.fromkeys(labels, 1), {"n": "?"})
    many = counter("many_total", "?", lambda _: {str(n): n for n in range(SERIES_MAX + 1)}, {"n": "?"})
    view: Any = SimpleNamespace(facts=SimpleNamespace(measure=id, watch=id))
    for family, shown in ((long, 1), (many, SERIES_MAX)):
        monkeypatch.setattr(exposition, "THEMES", {"": (family,)})
        text = exposition.MetricsText(view)
        text.scene = "a scene"  # type: ignore[assignment]
        cut, count = text.collect()
        assert (len(cut.samples), count.samples[0].value) == (shown, 1)


@pytest.mark.parametrize("accepted", ["", "application/openmetrics-text; version=1.0.0"])
def test_every_scraper_gets_the_text_format(managed: Managed, accepted: str) -> None:
    answer = managed.http.ask("/metrics", headers={"Accept": accepted})
    assert answer.headers["content-type"].startswith("text/plain; version=")
