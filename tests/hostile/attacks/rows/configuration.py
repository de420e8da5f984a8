"""Requests 318, 319 and 25: the configuration of the name server, and files of its machine."""

from __future__ import annotations

from collections.abc import Iterator

from interop.harness import codes
from tests.behaviour.calls import update_settings
from tests.hostile.attacks.attack import Attack, Request
from tests.hostile.attacks.scene import Scene

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


ROWS = (
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
