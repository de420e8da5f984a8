"""Requests that change the routes of others."""

from __future__ import annotations

from collections.abc import Iterator

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from interop.harness.wire import Client
from tests.behaviour.calls import get_kv
from tests.behaviour.steps import TWO_TOPICS, settle, unregister_ext
from tests.behaviour.views import loads, route
from tests.hostile.attacks.attack import Attack, Request
from tests.hostile.attacks.policy import BOUND_BROKER, FLEET, OTHER_BROKER, STRANGER, UNKNOWN
from tests.hostile.attacks.scene import Scene
from tests.support.proxyheaders import v1

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


ROWS = (
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
