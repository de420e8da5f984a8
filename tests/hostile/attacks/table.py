"""All attacks, in the order of the page: the configuration, the routes, signatures, loads."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from interop.harness.relay import Relay
from interop.harness.wire import ROCKETMQ, Client, binary_header, frame, json_header
from tests.behaviour.calls import get_kv, update_settings
from tests.behaviour.steps import TWO_TOPICS, settle, unregister_ext
from tests.behaviour.views import ask_route, loads, route
from tests.hostile.attacks.judging import (
    BOUND_BROKER,
    CLOSED,
    FLEET,
    OTHER_BROKER,
    STRANGER,
    SUCCEEDS,
    UNKNOWN,
    Attack,
    Request,
    Row,
    Scene,
    said,
    signed,
)
from tests.hostile.witness import MB
from tests.support.ended import is_ended
from tests.support.proxyheaders import v1

UPDATE_BROKER_CONFIG = 25
SHELL = "-c $@|sh . echo touch /tmp/attacked;"
LINE = "* * * * * touch /tmp/attacked"
SIZES = ("clientRequestThreadPoolNums", "defaultThreadPoolNums", "clientRequestThreadPoolQueueCapacity",
         "defaultThreadPoolQueueCapacity")  # fmt: skip


def update(**properties: str) -> Request:
    """Request 318 with these properties."""
    return Request(codes.UPDATE_NAMESRV_CONFIG, None, "".join(f"{k}={v}\n" for k, v in properties.items()).encode())


def to_a_file(scene: Scene) -> Iterator[Request]:
    yield update(configStorePath=str(scene.folder / "crontab"), productEnvName=rf"x\n{LINE}")


def to_a_kv_file(scene: Scene) -> Iterator[Request]:
    yield update(kvConfigPath=str(scene.folder / "crontab"))
    yield Request(codes.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": LINE})


def without_black_list(scene: Scene) -> Iterator[Request]:
    yield update(configBlackList="none")
    yield from to_a_file(scene)


def next_start(scene: Scene) -> Iterator[Request]:
    """A value with a line break: the name server writes it as two lines, and reads two at its next start."""
    yield update(productEnvName=rf"center\nconfigStorePath={scene.folder / 'crontab'}")


def wrote_a_file(scene: Scene) -> bool:
    return (scene.folder / "crontab").exists()


def wrote_a_line(scene: Scene) -> bool:
    return f"configStorePath={scene.folder / 'crontab'}\n" in scene.server.config_path.read_text("latin-1")


def as_before(scene: Scene) -> None:
    lines = [*(f"{size}=10000" for size in SIZES), "enableAllTopicList=true", "productEnvName=center"]
    assert update_settings(scene.fleet, "\n".join(lines)).code == codes.SUCCESS


CONFIGURATION = (
    Attack(
        "CVE-2023-37582: `configStorePath`",
        "318 names a crontab as the configuration's file, and lines for it",
        to_a_file, wrote_a_file,
    ),
    Attack(
        "CVE-2023-37582: `kvConfigPath`",
        "318 names a crontab as the KV table's file, then 100 writes an item",
        to_a_kv_file, wrote_a_file,
    ),
    Attack(
        "CVE-2023-37582: `configBlackList`",
        "318 empties the list of properties that it may not change, then the first attack",
        without_black_list, wrote_a_file,
    ),
    Attack(
        "A value with a line break",
        "318: the file gets a second line, `configStorePath=…`, which counts at the next start",
        next_start, wrote_a_line, undo=as_before,
    ),
    Attack(
        "CVE-2023-33246, as a name server has it",
        "318 with shell text as `rocketmqHome`",
        lambda _: [update(rocketmqHome=SHELL, filterServerNums="1")],
        lambda scene: scene.setting("rocketmqHome") == SHELL,
    ),
    Attack(
        "CVE-2023-33246",
        "25 (a broker's configuration) to the name server, with the same text",
        lambda _: [Request(UPDATE_BROKER_CONFIG, None, f"rocketmqHome={SHELL}\nfilterServerNums=1\n".encode())],
        lambda scene: SHELL in (scene.setting("rocketmqHome"), scene.setting("filterServerNums")),
    ),
    Attack(
        "Issue 7542: pools of 1",
        "318 with thread pools and queues of 1, and `enableAllTopicList=false`",
        lambda _: [update(**dict.fromkeys(SIZES, "1"), enableAllTopicList="false")],
        lambda scene: scene.fleet.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code != codes.SUCCESS,
        undo=as_before,
    ),
    Attack(
        "The configuration is read",
        "319",
        lambda _: [Request(codes.GET_NAMESRV_CONFIG)],
        lambda scene: bool(scene.answers) and scene.answers[-1].body is not None,
    ),
)  # fmt: skip


ATTACKER = "10.66.66.66:10911"
WRITE = 2
PATH = "../../../../etc/cron.d/attacked"


def wipe_all(scene: Scene) -> Iterator[Request]:
    """205 for every broker that 106 names."""
    yield Request(codes.GET_BROKER_CLUSTER_INFO)
    if scene.answers[-1].code == codes.SUCCESS:
        for name in loads(scene.answers[-1].body)["brokerAddrTable"]:
            yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": name})


def wipe(scene: Scene) -> Iterator[Request]:
    yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": scene.names.broker})


def has_no_write_permission(scene: Scene) -> bool:
    permission = scene.permission()
    return permission is not None and not permission & WRITE


def delete(scene: Scene) -> Iterator[Request]:
    yield Request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": scene.topic})


def unregister(scene: Scene) -> Iterator[Request]:
    yield Request(codes.UNREGISTER_BROKER, unregister_ext(scene.names))


def is_gone(scene: Scene) -> bool:
    settle(scene.fleet)
    return scene.permission() is None


def register(scene: Scene, broker: str, state: int = 1) -> Request:
    """103 with the attacker's address and the fleet's topics: of one topic only a known broker may send it."""
    topics = [topic_config(scene.names.topic(name)) for name in TWO_TOPICS]
    body = register_body(topics, data_version(state=state))
    ext = register_ext(scene.names.cluster, broker, ATTACKER, 0, body)
    return Request(codes.REGISTER_BROKER, ext, body)


def takeover(scene: Scene) -> Iterator[Request]:
    """The group's name, its master's id, and a higher stateVersion."""
    yield register(scene, scene.names.broker, state=2)


def is_taken(scene: Scene) -> bool:
    return ATTACKER in scene.addresses() and scene.names.addr() not in scene.addresses()


def beside(scene: Scene) -> Iterator[Request]:
    yield register(scene, f"{scene.names.broker}-more")


def is_beside(scene: Scene) -> bool:
    return ATTACKER in scene.addresses()


def topic_with_a_path(scene: Scene) -> Iterator[Request]:
    queue = {"brokerName": scene.names.broker, "perm": 6, "readQueueNums": 1, "topicSysFlag": 0, "writeQueueNums": 1}
    yield Request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": PATH}, dumps({"queueDatas": [queue]}))


def drop_path(scene: Scene) -> None:
    scene.fleet.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": PATH})


def order(scene: Scene) -> Iterator[Request]:
    yield Request(codes.PUT_KV_CONFIG, {"namespace": "ORDER_TOPIC_CONFIG", "key": scene.topic, "value": "attacker:1"})


def announced(scene: Scene) -> Client:
    """A stranger that announces an address of the fleet."""
    return scene.connect(STRANGER, before=v1("TCP4", FLEET, "127.0.0.1", 40_000, 9876))


def nobody(scene: Scene) -> Client:
    """From an address that the policy does not name."""
    return scene.connect(UNKNOWN)


ROUTES = (
    Attack(
        "Routes are read", "105, from an address that the policy does not name",
        lambda scene: [Request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": scene.topic})],
        lambda scene: bool(scene.answers) and scene.answers[-1].code == codes.SUCCESS, nobody,
    ),
    Attack(
        "Issue 1842: no broker is written to",
        "106, then 205 for every broker of the answer",
        wipe_all, has_no_write_permission,
    ),
    Attack(
        "Issue 1842, behind a PROXY header",
        "205 for one broker, from an address of the fleet, as a PROXY header says",
        wipe, has_no_write_permission, announced,
    ),
    Attack("A topic disappears", "216", delete, is_gone),
    Attack("A broker disappears", "104 with its name and address", unregister, is_gone),
    Attack(
        "Takeover by `stateVersion`",
        "103 with a live broker's name and id, the attacker's address, and a higher stateVersion",
        takeover, is_taken,
    ),
    Attack(
        "Takeover by a broker of the fleet",
        "the same from an address that may register brokers, and owns no group",
        takeover, is_taken, lambda scene: scene.connect(OTHER_BROKER), is_stopped=None,
    ),
    Attack(
        "Takeover by a broker with names of its own",
        "the same from an address that may register `own-*` only",
        takeover, is_taken, lambda scene: scene.connect(BOUND_BROKER),
    ),
    Attack(
        "A broker more",
        "103 with a new name: the attacker gets a share of a topic's messages",
        beside, is_beside,
    ),
    Attack(
        "Issue 2935: a name that a broker cannot store",
        "217 with a path as the topic's name",
        topic_with_a_path, lambda scene: route(scene.fleet, PATH) is not None, undo=drop_path,
    ),
    Attack(
        "The order of a topic",
        "100: other queues for ordered messages",
        order, lambda scene: get_kv(scene.fleet, "ORDER_TOPIC_CONFIG", scene.topic).code == codes.SUCCESS,
    ),
)  # fmt: skip


PROPERTIES = "orderMessageEnable=true\n"


def lookup_as_wipe(key: str) -> Callable[[Scene], Iterator[Request]]:
    """V16: what signs a lookup of the topic broker-a signs a wipe of the broker broker-a."""

    def requests(scene: Scene) -> Iterator[Request]:
        seen = signed(key, {"topic": scene.names.broker})
        yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, recoded(seen))

    return requests


def recoded(seen: dict[str, str]) -> dict[str, str]:
    """The fields of a lookup as those of a wipe: names are not signed, and the value sorts as before."""
    fields = dict(seen)
    fields["brokerName"] = fields.pop("topic")
    return fields


def lookup_as_update(key: str) -> Callable[[Scene], Iterator[Request]]:
    """V4: a lookup of a topic that reads like properties, sent as 318 with that body."""

    def requests(_: Scene) -> Iterator[Request]:
        seen = signed(key, {"topic": PROPERTIES})
        del seen["topic"]
        yield Request(codes.UPDATE_NAMESRV_CONFIG, seen, PROPERTIES.encode())

    return requests


def is_updated(scene: Scene) -> bool:
    return scene.setting("orderMessageEnable") == "true"


def update_back(scene: Scene) -> None:
    as_before(scene)
    scene.fleet.request(codes.UPDATE_NAMESRV_CONFIG, None, b"orderMessageEnable=false\n")


def list_as_configuration(_: Scene) -> Iterator[Request]:
    """V3: a request without fields, 106, sent as 319."""
    yield Request(codes.GET_NAMESRV_CONFIG, signed("alone"))


def is_read(scene: Scene) -> bool:
    return bool(scene.answers) and scene.answers[-1].body is not None


def with_another_secret(scene: Scene) -> Iterator[Request]:
    ext = {"brokerName": scene.names.broker}
    yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, signed("alone", ext, secret="another one"))


def with_an_empty_key(scene: Scene) -> Iterator[Request]:
    fields = signed("alone", {"brokerName": scene.names.broker}) | {"AccessKey": ""}
    yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, fields)


def from_the_wire(scene: Scene, *, tls: bool) -> Iterator[Request]:
    """Read what a client sends, look for a signature, and send its fields as a wipe."""
    relay = Relay(scene.server.port, FLEET)
    try:
        client = scene.connect(FLEET, tls=tls, port=relay.port)
        client.request(codes.GET_ROUTEINFO_BY_TOPIC, signed("alone", {"topic": scene.names.broker}))
        seen = b"".join(map(bytes, relay.sent))
    finally:
        relay.close()
    if (at := seen.find(b'{"code":')) >= 0:
        header, _ = json.JSONDecoder().raw_decode(seen[at:].decode())
        yield Request(codes.WIPE_WRITE_PERM_OF_BROKER, recoded(header["extFields"]))


def stranger_with_tls(scene: Scene) -> Client:
    """It has no certificate."""
    return scene.connect(STRANGER, tls=True)


SIGNATURES = (
    Attack(
        "V16, re-coded: by key alone",
        "the fields of a signed 105 for the topic `broker-a`, sent as 205 for the broker `broker-a`",
        lookup_as_wipe("alone"), has_no_write_permission, is_stopped=False,
    ),
    Attack(
        "V16: by key and network", "the same, from outside of the network",
        lookup_as_wipe("here"), has_no_write_permission,
    ),
    Attack(
        "V16: by key and certificate", "the same with TLS, without the certificate",
        lookup_as_wipe("shown"), has_no_write_permission, stranger_with_tls,
    ),
    Attack("V16: by a key that may only look up", "the same", lookup_as_wipe("looker"), has_no_write_permission),
    Attack(
        "V4, re-coded: by key alone",
        "a signed 105 whose topic reads like a property, sent as 318 with that text as its body",
        lookup_as_update("alone"), is_updated, undo=update_back, is_stopped=False,
    ),
    Attack("V4: by key and network", "the same, from outside of the network", lookup_as_update("here"), is_updated,
           undo=update_back),
    Attack(
        "V3, replayed: by key alone", "a signed 106, sent as 319",
        list_as_configuration, is_read, is_stopped=False,
    ),
    Attack(
        "A signature is read from the wire", "a client's signed 105 is recorded, and sent as 205",
        partial(from_the_wire, tls=False), has_no_write_permission, is_stopped=False,
    ),
    Attack(
        "A signature is read from the wire with TLS", "the same",
        partial(from_the_wire, tls=True), has_no_write_permission,
    ),
    Attack(
        "A known key with another secret", "205", with_another_secret, has_no_write_permission,
    ),
    Attack(
        "An empty key beside a signature", "205", with_an_empty_key, has_no_write_permission,
    ),
)  # fmt: skip


BOUNDED = "bounded"
INFLATED = 128 * MB
SLOW = 1_000
OWN_ADDRESS = "10.66.66.66:10911"
KEYS_TRIED = 10_000


@dataclass(frozen=True)
class Load:
    """``play`` gives the cell, with a figure."""

    name: str
    does: str
    play: Callable[[Scene], str]
    is_stopped: bool | None = True


def wrong_remark_length(scene: Scene) -> str:
    """50 frames in which the remark has 2 GiB, as its length says."""
    header = bytearray(binary_header(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": scene.topic}))
    struct.pack_into(">i", header, 13, 0x7FFFFFF0)
    for _ in range(50):
        client = scene.connect(STRANGER)
        client.send(frame(bytes(header), b"", ROCKETMQ))
        if not client.is_closed_by_server():
            return SUCCEEDS
    return CLOSED


@cache
def bomb() -> bytes:
    """A data version of 128 MiB of blanks: 128 KiB when it is compressed."""
    deflating = zlib.compressobj(9)
    parts = [deflating.compress(struct.pack(">i", INFLATED))]
    parts += [deflating.compress(b" " * MB) for _ in range(INFLATED // MB)]
    return b"".join([*parts, deflating.flush()])


def zip_bomb(scene: Scene) -> str:
    """From an address that may register brokers, so that the body counts."""
    body = bomb()
    ext = register_ext(scene.names.cluster, f"{scene.names.broker}-more", OWN_ADDRESS, 0, body, compressed="true")
    try:
        scene.answers.append(scene.connect(OTHER_BROKER).request(codes.REGISTER_BROKER, ext, body))
    except ConnectionError:
        return CLOSED
    return said(scene.answers)


def slow_connections(scene: Scene) -> str:
    """1,000 connections, each with the beginning of a frame of 16 MB."""
    begun = struct.pack(">iI", 15 * MB, 100) + b'{"code":'
    slow = [scene.connect(STRANGER) for _ in range(SLOW)]
    for client in slow:
        with suppress(ConnectionError):
            client.send(begun)
    answer = ask_route(scene.connect("127.0.0.1"), scene.topic)
    if answer.code != codes.SUCCESS:
        return SUCCEEDS
    if all(is_ended(client) for client in slow):
        return CLOSED
    return f"{BOUNDED} (others are answered)"


def many_keys(scene: Scene) -> str:
    """10,000 requests, each with an access key of its own, and as many lines of the log as the server writes."""
    client = scene.connect(STRANGER)
    log_before = log_bytes(scene)
    for begin in range(0, KEYS_TRIED, 500):
        client.send(b"".join(map(unknown_key, range(begin, begin + 500))))
        scene.answers = [client.receive() for _ in range(500)]
    written = log_bytes(scene) - log_before
    if written > MB:
        return f"{SUCCEEDS} ({written // MB} MB of log)"
    is_answered = scene.answers[-1].code == codes.SUCCESS
    return f"{'answered' if is_answered else said(scene.answers)} (less than 1 MB of log)"


def unknown_key(number: int) -> bytes:
    key = f"guess-{number:05}"
    return frame(json_header(codes.GET_BROKER_CLUSTER_INFO, signed(key, secret="guessed")))


def log_bytes(scene: Scene) -> int:
    return len(scene.server.process.text())


LOADS = (
    Load("Issue 3474: wrong length of the remark", "50 binary headers whose remark has 2 GiB", wrong_remark_length),
    Load(
        "A zip bomb", "103 with 128 KiB that inflate to 128 MiB, from an address that may register brokers", zip_bomb,
    ),
    Load("Slow connections", f"{SLOW:,} connections, each with the beginning of a frame", slow_connections),
    Load(f"{KEYS_TRIED:,} unknown keys", "106 with a key of its own each", many_keys),
)  # fmt: skip


ROWS: tuple[Row, ...] = (*CONFIGURATION, *ROUTES, *SIGNATURES, *LOADS)
JAVA = "Java 5.5.0"
MODES = ("off", "observe", "enforce")
COLUMNS = (JAVA, *MODES)
