"""Known attacks on RocketMQ's name server: Java and rocketns do what attacks.md says, judged by the outcome."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from interop.harness.servers import JavaNameServer, NameServer
from interop.harness.wire import Answer, Client
from tests.access import signing
from tests.behaviour.calls import get_kv, settings, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered, settle, unregister_ext
from tests.behaviour.views import loads, perms, route
from tests.check.source import ROOT
from tests.hostile.conftest import assert_nothing_unforeseen
from tests.support.certificates import Files, authority
from tests.support.proxyheaders import v1
from tests.support.tlsclient import TlsClient, any_server
from tests.support.tlsfiles import as_options, verifying

PAGE = (ROOT / "tests" / "hostile" / "attacks.md").read_text("utf-8")
POLICY = PAGE.partition("This is the policy of `enforce`:")[2].partition("```toml\n")[2].partition("```")[0]
FLEET, STRANGER, OTHER_BROKER, BOUND_BROKER, UNKNOWN = (f"127.0.0.{number}" for number in range(1, 6))
ATTACKER = "10.66.66.66:10911"
PATH = "../../../../etc/cron.d/attacked"
SHELL = "-c $@|sh . echo touch /tmp/attacked;"
SIZES = ("clientRequestThreadPoolNums", "defaultThreadPoolNums", "clientRequestThreadPoolQueueCapacity",
         "defaultThreadPoolQueueCapacity")  # fmt: skip
WIPE = codes.WIPE_WRITE_PERM_OF_BROKER
Request = tuple[int, dict[str, str] | None, bytes]


def cells() -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of the page: the attack's name, and what each column says without its figure."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if "| " in line]
    head = next(line for line in lines if line[0] == "Attack")
    for line in lines[lines.index(head) + 2 :]:
        if len(line) == len(head):
            yield line[0], {name: cell.partition(" (")[0] for name, cell in zip(head, line, strict=True)}


@dataclass
class Scene:
    """``fleet``: a connection from FLEET, on which the broker of ``names`` has registered the topics T and U."""

    server: NameServer
    fleet: Client
    folder: Path
    names: Names = field(default_factory=Names)
    answers: list[Answer] = field(default_factory=list)

    @property
    def topic(self) -> str:
        return self.names.topic("T")

    @property
    def broker(self) -> dict[str, str]:
        return {"brokerName": self.names.broker}

    def addresses(self) -> set[str]:
        """All addresses in the topic's route."""
        data = route(self.fleet, self.topic) or {"brokerDatas": []}
        return {address for one in data["brokerDatas"] for address in one["brokerAddrs"].values()}


def signed(key: str, ext: dict[str, str], secret: str = "") -> dict[str, str]:
    """``secret``: another one than the key's."""
    return signing.signed(ext, key=key, secret=secret or f"secret-of-{key}")


def update(**properties: str) -> Request:
    """Request 318 with these properties."""
    return codes.UPDATE_NAMESRV_CONFIG, None, "".join(f"{k}={v}\n" for k, v in properties.items()).encode()


def crontab(scene: Scene) -> Path:
    return scene.folder / "crontab"


def wipe_all(scene: Scene) -> Iterator[Request]:
    """205 for every broker that 106 names."""
    yield codes.GET_BROKER_CLUSTER_INFO, None, b""
    if scene.answers[-1].code == codes.SUCCESS:
        for name in loads(scene.answers[-1].body)["brokerAddrTable"]:
            yield WIPE, {"brokerName": name}, b""


def register(scene: Scene, broker: str, state: int = 1) -> Request:
    """103 with the attacker's address and the fleet's topics: of one topic only a known broker may send it."""
    topics = [topic_config(scene.names.topic(name)) for name in ("T", "U")]
    body = register_body(topics, data_version(state=state))
    return codes.REGISTER_BROKER, register_ext(scene.names.cluster, broker, ATTACKER, 0, body), body


def takeover(scene: Scene) -> Iterable[Request]:
    """The group's name, its master's id, and a higher stateVersion."""
    return [register(scene, scene.names.broker, state=2)]


def topic_with_a_path(scene: Scene) -> Iterable[Request]:
    queue = scene.broker | {"perm": 6, "readQueueNums": 1, "topicSysFlag": 0, "writeQueueNums": 1}
    return [(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": PATH}, dumps({"queueDatas": [queue]}))]


def order(scene: Scene) -> Iterable[Request]:
    item = {"namespace": "ORDER_TOPIC_CONFIG", "key": scene.topic, "value": "attacker:1"}
    return [(codes.PUT_KV_CONFIG, item, b"")]


def recoded(key: str) -> Callable[[Scene], Iterable[Request]]:
    """The fields of a signed lookup as those of a wipe: names are not signed, and the value sorts as before."""

    def requests(scene: Scene) -> Iterable[Request]:
        fields = signed(key, {"topic": scene.names.broker})
        return [(WIPE, fields | {"brokerName": fields.pop("topic")}, b"")]

    return requests


def wrote_a_line(scene: Scene) -> bool:
    return f"configStorePath={crontab(scene)}\n" in scene.server.config_path.read_text("latin-1")


def was_told(scene: Scene) -> bool:
    return bool(scene.answers) and scene.answers[-1].body is not None


def cannot_be_written_to(scene: Scene) -> bool:
    permission = perms(scene.fleet, scene.topic).get(scene.names.broker)
    return permission is not None and not permission & 2


def is_gone(scene: Scene) -> bool:
    settle(scene.fleet)
    return scene.names.broker not in perms(scene.fleet, scene.topic)


def is_taken(scene: Scene) -> bool:
    return ATTACKER in scene.addresses() and scene.names.addr() not in scene.addresses()


@dataclass(frozen=True)
class Attack:
    """Requests on one connection, each sent when the one before is answered. ``harm``: whether it succeeded."""

    name: str
    requests: Callable[[Scene], Iterable[Request]]
    harm: Callable[[Scene], bool]
    source: str = STRANGER
    before: bytes = b""
    connect: type[Client] = Client


ATTACKS = (
    Attack("CVE-2023-37582: `configStorePath`",
           lambda scene: [update(configStorePath=str(crontab(scene)), productEnvName=r"x\n* * * * * touch /tmp/a")],
           lambda scene: crontab(scene).exists()),
    Attack("A value with a line break",
           lambda scene: [update(productEnvName=rf"center\nconfigStorePath={crontab(scene)}")], wrote_a_line),
    Attack("CVE-2023-33246, as a name server has it",
           lambda _: [update(rocketmqHome=SHELL, filterServerNums="1")],
           lambda scene: settings(scene.fleet).get("rocketmqHome") == SHELL),
    Attack("Issue 7542: pools of 1",
           lambda _: [update(**dict.fromkeys(SIZES, "1"), enableAllTopicList="false")],
           lambda scene: scene.fleet.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code != codes.SUCCESS),
    Attack("The configuration is read", lambda _: [(codes.GET_NAMESRV_CONFIG, None, b"")], was_told),
    Attack("Routes are read", lambda scene: [(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": scene.topic}, b"")], was_told,
           source=UNKNOWN),
    Attack("Issue 1842: no broker is written to", wipe_all, cannot_be_written_to),
    Attack("Issue 1842, behind a PROXY header", lambda scene: [(WIPE, scene.broker, b"")], cannot_be_written_to,
           before=v1("TCP4", FLEET, "127.0.0.1", 40_000, 9876)),
    Attack("A topic disappears", lambda scene: [(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": scene.topic}, b"")], is_gone),
    Attack("A broker disappears", lambda scene: [(codes.UNREGISTER_BROKER, unregister_ext(scene.names), b"")], is_gone),
    Attack("Takeover by `stateVersion`", takeover, is_taken),
    Attack("Takeover by a broker of the fleet", takeover, is_taken, source=OTHER_BROKER),
    Attack("Takeover by a broker with names of its own", takeover, is_taken, source=BOUND_BROKER),
    Attack("A broker more", lambda scene: [register(scene, f"{scene.names.broker}-more")],
           lambda scene: ATTACKER in scene.addresses()),
    Attack("Issue 2935: a name that a broker cannot store", topic_with_a_path,
           lambda scene: route(scene.fleet, PATH) is not None),
    Attack("The order of a topic", order,
           lambda scene: get_kv(scene.fleet, "ORDER_TOPIC_CONFIG", scene.topic).code == codes.SUCCESS),
    Attack("V16, re-coded: by key alone", recoded("alone"), cannot_be_written_to),
    Attack("V16: by key and network", recoded("here"), cannot_be_written_to),
    Attack("V16: by key and certificate", recoded("shown"), cannot_be_written_to, connect=TlsClient),
    Attack("V16: by a key that may only look up", recoded("looker"), cannot_be_written_to),
    Attack("A known key with another secret",
           lambda scene: [(WIPE, signed("alone", scene.broker, "another one"), b"")], cannot_be_written_to),
    Attack("An empty key beside a signature",
           lambda scene: [(WIPE, signed("alone", scene.broker) | {"AccessKey": ""}, b"")], cannot_be_written_to),
)  # fmt: skip


def outcome(attack: Attack, scene: Scene) -> str:
    """In the words of the page, by what the fleet sees and the first answer that refuses something."""
    with attack.connect(scene.server.port, source=attack.source) as client:
        if attack.before:
            client.send(attack.before)
        for request in attack.requests(scene):
            scene.answers.append(client.request(*request))
        if attack.harm(scene):
            return "**succeeds**"
    refused = next(answer for answer in scene.answers if answer.code != codes.SUCCESS)
    by = " by the black list" if refused.remark == "Can not update config in black list." else ""
    return f"refused{by}, code {refused.code}"


def repair(fleet: Client) -> None:
    """Of what other attacks would notice."""
    lines = [*(f"{size}=10000" for size in SIZES), "enableAllTopicList=true", "productEnvName=center"]
    assert update_settings(fleet, "\n".join(lines)).code == codes.SUCCESS
    fleet.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": PATH})


COLUMNS = ["enforce", "off", pytest.param("Java 5.5.0", marks=[pytest.mark.needs("java", "mvn"), pytest.mark.slow])]


@pytest.fixture(scope="module", params=COLUMNS)
def column(request: pytest.FixtureRequest) -> str:
    """Of the page's table."""
    return str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacked")


@pytest.fixture(scope="module")
def attacked(server_class: type[NameServer], column: str, folder: Path) -> Iterator[NameServer]:
    """A server for all attacks. None of them may have caused an unexpected error in rocketns."""
    if column.startswith("Java"):
        with JavaNameServer(folder / "java") as java:
            yield java
        return
    (folder / "access.toml").write_text(POLICY, "utf-8")
    signer = authority("authority")
    Files.write(folder / "client", signer.issue("operator"))
    options = as_options(verifying(folder / "server", signer))
    properties: dict[str, object] = {"rocketns.accessFile": folder / "access.toml"} if column == "enforce" else {}
    server = server_class(folder / column, properties, options=options)
    yield server
    assert server.stop() == 0
    assert_nothing_unforeseen(server)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: re.sub(r"\W+", "-", attack.name))
def test_what_happens_is_what_the_page_says(attacked: NameServer, column: str, attack: Attack, tmp_path: Path) -> None:
    with ExitStack() as stack:
        scene = Scene(attacked, stack.enter_context(Client(attacked.port, source=FLEET)), tmp_path)
        stack.callback(repair, scene.fleet)
        registered(scene.fleet, scene.names, version=data_version(state=1))
        assert outcome(attack, scene) == dict(cells())[attack.name][column]


LOOKUP, NO_TOPIC, NO_BROKER = codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "none"}, {"brokerName": "none"}
RIGHTS = (
    (STRANGER, LOOKUP, NO_TOPIC, codes.TOPIC_NOT_EXIST),
    (OTHER_BROKER, LOOKUP, NO_TOPIC, codes.TOPIC_NOT_EXIST),
    (FLEET, WIPE, NO_BROKER, codes.SUCCESS),
    (UNKNOWN, WIPE, signed("alone", NO_BROKER), codes.SUCCESS),
    (UNKNOWN, LOOKUP, signed("looker", NO_TOPIC), codes.TOPIC_NOT_EXIST),
    (FLEET, WIPE, signed("here", NO_BROKER), codes.SUCCESS),
)


@pytest.mark.parametrize("column", COLUMNS[:1], indirect=True, scope="module")
def test_who_has_the_right_is_answered(attacked: NameServer, folder: Path) -> None:
    """Also by a key together with its certificate, and the brokers whose names the policy has."""
    for source, code, ext, expected in RIGHTS:
        with Client(attacked.port, source=source) as client:
            assert client.request(code, ext).code == expected
    known = any_server(Files(folder, folder / "client" / "certificate.pem", folder / "client" / "key.pem"))
    with TlsClient(attacked.port, source=UNKNOWN, context=known) as client:
        assert client.request(WIPE, signed("shown", NO_BROKER)).code == codes.SUCCESS
    body = register_body([topic_config("T"), topic_config("U")])
    for source, broker in ((OTHER_BROKER, "any"), (BOUND_BROKER, "own-1")):
        with Client(attacked.port, source=source) as client:
            ext = register_ext(broker=broker, addr=f"{source}:10911", body=body)
            assert client.request(codes.REGISTER_BROKER, ext, body).code == codes.SUCCESS
