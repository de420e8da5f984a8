"""One property: from text to value and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketns.config import Configuration, Limits, NamesrvConfig, NettyServerConfig, properties
from rocketns.config.limits import FRAME_BYTES_MAX, FRAME_MAX_LENGTH
from rocketns.config.sections import CLASSES
from rocketns.config.texts.system import system_properties
from rocketns.config.tls import TlsConfig
from rocketns.errors import StartupError

# NamesrvConfig and NettyServerConfig of RocketMQ 5.5.0, as request 319 shows them; paths depend on the machine.
NAMESRV_DEFAULTS = {
    "clientRequestThreadPoolNums": "8", "clientRequestThreadPoolQueueCapacity": "50000", "clusterTest": "false",
    "configBlackList": "configBlackList;configStorePath;kvConfigPath", "configStorePath": "",
    "defaultThreadPoolNums": "16", "defaultThreadPoolQueueCapacity": "10000",
    "deleteTopicWithBrokerRegistration": "false", "enableAllTopicList": "true", "enableControllerInNamesrv": "false",
    "enableTopicList": "true", "kvConfigPath": "", "needWaitForService": "false",
    "notifyMinBrokerIdChanged": "false", "orderMessageEnable": "false", "productEnvName": "center",
    "returnOrderTopicConfigToBroker": "true", "scanNotActiveBrokerInterval": "5000", "supportActingMaster": "false",
    "unRegisterBrokerQueueCapacity": "3000", "waitSecondsForService": "45",
}  # fmt: skip
NETTY_DEFAULTS = {
    "bindAddress": "0.0.0.0", "enableShutdownGracefully": "false", "listenPort": "9876",
    "serverAsyncSemaphoreValue": "64", "serverCallbackExecutorThreads": "0",
    "serverChannelMaxIdleTimeSeconds": "120", "serverNettyWorkerGroupEnable": "true",
    "serverOnewaySemaphoreValue": "256", "serverPooledByteBufAllocatorEnable": "true",
    "serverSelectorThreads": "3", "serverSocketBacklog": "1024", "serverSocketRcvBufSize": "0",
    "serverSocketSndBufSize": "0", "serverWorkerThreads": "8", "shutdownWaitTimeSeconds": "30",
    "useEpollNativeSelector": "false", "writeBufferHighWaterMark": "0", "writeBufferLowWaterMark": "0",
}  # fmt: skip


@pytest.mark.parametrize(("kind", "expected"), [(NamesrvConfig, NAMESRV_DEFAULTS), (NettyServerConfig, NETTY_DEFAULTS)])
def test_names_and_defaults_are_javas(kind: type, expected: dict[str, str]) -> None:
    """B234: rocketmqHome has no value by default, and is not shown."""
    assert properties.items(kind()) == expected, (
        "Next step: the default of Java's class in NAMESRV_DEFAULTS or NETTY_DEFAULTS of this file. A property that "
        "Java does not have belongs into a class of rocketns' own properties"
    )
    assert properties.declared(kind).keys() - expected.keys() <= {"rocketmqHome"}


INT, LONG, BOOLEAN, TEXT = "waitSecondsForService", "scanNotActiveBrokerInterval", "clusterTest", "productEnvName"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        (INT, "7", 7), (INT, "-7", -7), (INT, "+7", 7), (INT, "007", 7), (INT, "2147483647", 2**31 - 1),
        (INT, "2147483648", None), (INT, "4.5", None), (INT, "45 ", None), (INT, " 45", None), (INT, "abc", None),
        (INT, "", None), (INT, "0x7", None),
        (LONG, "2147483648", 2**31), (LONG, "9223372036854775808", None),
        (BOOLEAN, "true", True), (BOOLEAN, "TRUE", True), (BOOLEAN, "true ", False), (BOOLEAN, "yes", False),
        (BOOLEAN, "", False),
        (TEXT, " a b ", "a b"), (TEXT, "", ""),
    ],
)  # fmt: skip
def test_text_becomes_a_value_of_the_property_s_type(name: str, text: str, value: Any) -> None:
    """B237: None where the text is ignored."""
    config = NamesrvConfig()
    before = properties.items(config)
    properties.update(config, {name: text, "unknown": "x", name.upper(): "1"})
    assert properties.parse(properties.declared(config)[name], text) == value
    expected = before if value is None else before | {name: properties.show(value)}
    assert properties.items(config) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a=1\nb = 2\nc:3\nd 4\ne\n", {"a": "1", "b": "2", "c": "3", "d": "4", "e": ""}),
        (b"# no\n! no\n  a=1\n\n", {"a": "1"}),
        (b"a=1\\\n   2\nb=\\u0041\\t\\n\\x", {"a": "12", "b": "A\t\nx"}),
        (b"a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        (b"a=1\na=2", {"a": "2"}),
        (b"a==b:c", {"a": "=b:c"}),
        (b"a\\=b\\:c\\ d=1", {"a=b:c d": "1"}),
        (b"a=trailing  ", {"a": "trailing  "}),
        (b"a=\xc3\xa9", {"a": "Ã©"}),
        (b"a=\\uD83D\\uDE00\nb\t1", {"a": "😀", "b": "1"}),
        (b"\\u0061=1 # no comment\n# comment \\\nb=2", {"a": "1 # no comment", "b": "2"}),
        (b"", {}),
    ],
)
def test_the_format_is_that_of_java_properties(text: bytes, expected: dict[str, str]) -> None:
    """B241: bytes are Latin-1."""
    assert properties.load(text) == expected


@pytest.mark.parametrize("text", [b"a=\\u12", b"a=\\uzzzz", b"a=\\u"])
def test_a_bad_escape_is_refused(text: bytes) -> None:
    """B239."""
    with pytest.raises(ValueError):
        properties.load(text)


def test_limits_have_their_own_prefix_and_javas_frame_length() -> None:
    limits = Limits()
    limits.update({"rocketns.connectionsMax": "7", "connectionsMax": "8"})
    assert (limits.connections_max, limits.in_flight_max, limits.frame_bytes_max) == (7, 1024, FRAME_BYTES_MAX)
    limits.update({"rocketns.frameBytesMax": "5"})
    limits.read_frame_max({FRAME_MAX_LENGTH: "1024"})
    assert limits.frame_bytes_max == 1024


@pytest.mark.parametrize(
    ("reactors", "cores", "expected"), [(-1, 3, 3), (-1, 8, 8), (-1, 9, 8), (-1, 64, 8), (0, 64, 0), (5, 2, 5)]
)
def test_there_is_a_reactor_for_each_core_up_to_eight(
    monkeypatch: pytest.MonkeyPatch, reactors: int, cores: int, expected: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(cores)))
    assert Limits(reactors=reactors).reactor_count == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 0, (32_768, 65_536)),
        (10, 20, (10, 20)),
        (20, 10, (10, 20)),
        (0, 100, (100, 32_768)),
        (-1, -1, (32_768, 65_536)),
    ],
)
def test_the_lower_water_mark_is_the_lower_one(low: int, high: int, expected: tuple[int, int]) -> None:
    """Whichever of the two properties is set."""
    config = NettyServerConfig(write_buffer_low_water_mark=low, write_buffer_high_water_mark=high)
    assert config.water_marks == expected


@pytest.mark.parametrize("bad", ["0", "-1", "x", "1023", "9" * 30])
def test_a_frame_length_that_serves_nobody_is_refused(bad: str) -> None:
    """B053: with such a value of Java's property no lookup's frame fits."""
    with pytest.raises(StartupError, match=f"{FRAME_MAX_LENGTH} is '{bad}', but must be a number from 1024 to"):
        Limits().read_frame_max({FRAME_MAX_LENGTH: bad})


@pytest.mark.parametrize(("name", "declaration"), properties.declared(Limits).items())
def test_a_limit_out_of_its_range_is_refused_by_name(name: str, declaration: Any) -> None:
    """The bounds themselves are valid."""
    low, high = declaration.metadata["bounds"]
    for value in (low, high):
        limits = Limits()
        limits.update({f"rocketns.{name}": str(value)})
        assert getattr(limits, declaration.name) == value
    for value in (low - 1, high + 1, "x", ""):
        with pytest.raises(StartupError, match=f"^rocketns.{name} is '?{value}'?, but must be a number from {low} to"):
            Limits().update({f"rocketns.{name}": str(value)})


@pytest.mark.parametrize("kind", CLASSES)
def test_every_default_is_within_its_bounds_and_may_be_kept(kind: type) -> None:
    config = kind()
    properties.check(config)
    for declaration in properties.declared(kind).values():
        if declaration.metadata["kept"] is not False:
            assert properties.may_keep(declaration, getattr(config, declaration.name))


# Java's system properties, as its launcher would pass them on.


@pytest.mark.parametrize(
    ("environment", "options", "expected"),
    [
        ({}, {}, {}),
        ({"JAVA_OPT": "-server -Xmx4g -Da.b=1 -Dc=d=e -Dflag"}, {}, {"a.b": "1", "c": "d=e", "flag": ""}),
        ({"JAVA_OPT": "-Da=1", "JAVA_OPT_EXT": "-Da=2\n-Db=3"}, {}, {"a": "2", "b": "3"}),
        ({"JAVA_OPT": "-Da=1 -Da=2"}, {"a": "3"}, {"a": "3"}),
        ({"JAVA_OPT": '-Da="x -D=y -D'}, {}, {"a": '"x'}),
        ({"OTHER": "-Da=1"}, {"b": ""}, {"b": ""}),
    ],
)
def test_the_last_definition_wins(
    environment: dict[str, str], options: dict[str, str], expected: dict[str, str]
) -> None:
    assert system_properties(environment, options) == expected


# Properties whose values are lists: one reader separates them all, and what cannot be an item is named.

SEPARATORS = (",", ";", " ", " , ", ";;")


def build(home: Path, *lines: str, **system: str) -> Configuration:
    file = home / "namesrv.properties"
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return Configuration.build(
        str(file), home=home, system={name.replace("_", "."): text for name, text in system.items()}
    )


@pytest.mark.parametrize("between", SEPARATORS)
def test_every_list_is_read_as_people_type_it(tmp_path: Path, between: str) -> None:
    servers, networks, names = (
        between.join(items) for items in (("a:1", "[::1]:2"), ("10.0.0.0/8", "::1"), ("x", ".y.z"))
    )
    made = build(
        tmp_path, f"rocketns.peers={servers}", f"rocketns.seedServers={servers}", f"rocketns.adminHosts={names}",
        f"rocketns.adminDrainFrom={networks}", f"rocketns.askNetworks={networks}",
        f"rocketns.trustedProxies={networks}", f"configBlackList={names}", "clusterTest=true",
        rocketmq_namesrv_addr=servers,
    )  # fmt: skip
    for read in (made.discovery.peer_addresses, made.restore.seeds, made.product_name_servers):
        assert read == ["a:1", "[::1]:2"]
    for networks_read in (made.admin.drain_networks, made.restore.networks, made.access.proxies):
        assert [str(one) for one in networks_read] == ["10.0.0.0/8", "::1/128"]
    assert made.admin.host_names == ["x", ".y.z"]
    assert {"x", ".y.z"} <= made._black_list


@pytest.mark.parametrize("between", SEPARATORS)
def test_the_lists_of_tls_are_read_in_the_same_way(between: str) -> None:
    given = {"tls.protocols": f"TLSv1.2{between}TLSv1.3", "tls.ciphers": f"A{between}B"}
    made = TlsConfig.read(given, {})
    assert (made.protocols, made.ciphers) == (("TLSv1.2", "TLSv1.3"), ("A", "B"))


@pytest.mark.parametrize("name", ["rocketns.peers", "rocketns.seedServers"])
@pytest.mark.parametrize("item", ["b", "10.0.0.0/8", "9876", "http://b:9876", "b:c:1"])
def test_an_item_that_cannot_be_a_host_and_port_stops_the_start_and_is_named(
    tmp_path: Path, name: str, item: str
) -> None:
    with pytest.raises(StartupError) as failed:
        build(tmp_path, f"{name}=a:9876, {item}")
    assert str(failed.value) == f"{name} has {item!r}, but each must be host:port"


@pytest.mark.parametrize("name", ["rocketns.adminDrainFrom", "rocketns.askNetworks", "rocketns.trustedProxies"])
@pytest.mark.parametrize("item", ["a:9876", "10.0.0.0/33", "10.0.0.1/8"])
def test_an_item_that_cannot_be_a_network_is_named(tmp_path: Path, name: str, item: str) -> None:
    with pytest.raises(StartupError, match=f"^{name}: .*{item}"):
        build(tmp_path, f"{name}=10.0.0.0/8, {item}")


def test_a_name_server_of_the_product_environment_is_checked_where_it_is_used(tmp_path: Path) -> None:
    assert build(tmp_path, rocketmq_namesrv_addr="a,b:1").product_name_servers == ["a", "b:1"]
    with pytest.raises(StartupError, match=r"^rocketmq\.namesrv\.addr, or NAMESRV_ADDR, has 'a', but"):
        build(tmp_path, "clusterTest=true", rocketmq_namesrv_addr="a,b:1")
