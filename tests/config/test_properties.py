"""Properties one by one: from text to value, their bounds, and those of limits, TLS, the journal and the fleet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rocketns.config import (
    Configuration,
    DiscoveryConfig,
    JournalConfig,
    Limits,
    NamesrvConfig,
    NettyServerConfig,
    properties,
)
from rocketns.config.journal import BUFFER_BYTES_MIN
from rocketns.config.limits import FRAME_BYTES_MAX, FRAME_MAX_LENGTH
from rocketns.config.sections import OWN
from rocketns.config.system import system_properties
from rocketns.config.tls import TLS_PROPERTIES, ClientAuth, TlsConfig, TlsMode
from rocketns.errors import StartupError

INT, LONG, BOOLEAN, TEXT = "waitSecondsForService", "scanNotActiveBrokerInterval", "clusterTest", "productEnvName"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        (INT, "-7", -7), (INT, "2147483648", None), (INT, "45 ", None), (LONG, "2147483648", 2**31),
        (BOOLEAN, "TRUE", True), (BOOLEAN, "true ", False), (TEXT, " a b ", "a b"),
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
        (b"a=1\r\nb=2\rc=3\na==b:c", {"a": "=b:c", "b": "2", "c": "3"}),
        (b"a\\=b\\:c\\ d=1", {"a=b:c d": "1"}),
        (b"a=\xc3\xa9  ", {"a": "Ã©  "}),
        (b"a=\\uD83D\\uDE00\nb\t1", {"a": "😀", "b": "1"}),
        (b"\\u0061=1 # no comment\n# comment \\\nb=2", {"a": "1 # no comment", "b": "2"}),
    ],
)
def test_the_format_is_that_of_java_properties(text: bytes, expected: dict[str, str]) -> None:
    """B241: bytes are Latin-1."""
    assert properties.load(text) == expected


def test_limits_have_their_own_prefix_and_javas_frame_length() -> None:
    limits = Limits()
    limits.update({"rocketns.connectionsMax": "7", "connectionsMax": "8"})
    assert (limits.connections_max, limits.in_flight_max, limits.frame_bytes_max) == (7, 1024, FRAME_BYTES_MAX)
    limits.update({"rocketns.frameBytesMax": "5"})
    limits.read_frame_max({FRAME_MAX_LENGTH: "1024"})
    assert limits.frame_bytes_max == 1024


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0, 0, (32_768, 65_536)), (20, 10, (10, 20)), (0, 100, (100, 32_768))]
)
def test_the_lower_water_mark_is_the_lower_one(low: int, high: int, expected: tuple[int, int]) -> None:
    """Whichever of the two properties is set."""
    config = NettyServerConfig(write_buffer_low_water_mark=low, write_buffer_high_water_mark=high)
    assert config.water_marks == expected


@pytest.mark.parametrize("bad", ["x", "1023", "9" * 30])
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


@pytest.mark.parametrize("kind", [NamesrvConfig, NettyServerConfig, *OWN.values()])
def test_every_default_is_within_its_bounds_and_may_be_kept(kind: type) -> None:
    config = kind()
    properties.check(config)
    for declaration in properties.declared(kind).values():
        if declaration.metadata["stored"] is not False:
            assert properties.may_store(declaration, getattr(config, declaration.name))


# Java's system properties, as its launcher would pass them on.


@pytest.mark.parametrize(
    ("environment", "options", "expected"),
    [
        ({"JAVA_OPT": "-server -Xmx4g -Da.b=1 -Dc=d=e -Dflag"}, {}, {"a.b": "1", "c": "d=e", "flag": ""}),
        ({"JAVA_OPT": "-Da=1", "JAVA_OPT_EXT": "-Da=2\n-Db=3"}, {}, {"a": "2", "b": "3"}),
        ({"JAVA_OPT": "-Da=1 -Da=2"}, {"a": "3"}, {"a": "3"}),
        ({"JAVA_OPT": '-Da="x -D=y -D'}, {}, {"a": '"x'}),
    ],
)
def test_the_last_definition_wins(
    environment: dict[str, str], options: dict[str, str], expected: dict[str, str]
) -> None:
    assert system_properties(environment, options) == expected


# Properties whose values are lists: one reader separates them all, and what cannot be an item is named.


def build(home: Path, *lines: str, **system: str) -> Configuration:
    file = home / "namesrv.properties"
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return Configuration.build(
        str(file), home=home, system={name.replace("_", "."): text for name, text in system.items()}
    )


@pytest.mark.parametrize("between", [",", " ; "])
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


@pytest.mark.parametrize("name", ["rocketns.peers", "rocketns.seedServers"])
@pytest.mark.parametrize("item", ["b", "http://b:9876"])
def test_an_item_that_cannot_be_a_host_and_port_stops_the_start_and_is_named(
    tmp_path: Path, name: str, item: str
) -> None:
    with pytest.raises(StartupError) as failed:
        build(tmp_path, f"{name}=a:9876, {item}")
    assert str(failed.value) == f"{name} has {item!r}, but each must be host:port"


@pytest.mark.parametrize("name", ["rocketns.adminDrainFrom", "rocketns.askNetworks", "rocketns.trustedProxies"])
@pytest.mark.parametrize("item", ["a:9876", "10.0.0.1/8"])
def test_an_item_that_cannot_be_a_network_is_named(tmp_path: Path, name: str, item: str) -> None:
    with pytest.raises(StartupError, match=f"^{name}: .*{item}"):
        build(tmp_path, f"{name}=10.0.0.0/8, {item}")


# The TLS properties: precedence of their sources, and how texts are parsed.


def read(tmp_path: Path, file: str | None, system: dict[str, str], given: dict[str, str] | None = None) -> TlsConfig:
    path = tmp_path / "tls.properties"
    if file is not None:
        path.write_text(file, "latin-1")
    return TlsConfig.read({"tls.config.file": str(path)} | system, given or {})


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("disabled", TlsMode.DISABLED), ("enforcing", TlsMode.ENFORCING), ("ENFORCING", TlsMode.PERMISSIVE),
    ],
)  # fmt: skip
def test_the_mode_is_one_of_three_words(tmp_path: Path, text: str, mode: TlsMode) -> None:
    """B068."""
    assert read(tmp_path, None, {"tls.server.mode": text}).mode is mode


@pytest.mark.parametrize(
    ("text", "auth"), [("optional", ClientAuth.OPTIONAL), ("REQUIRE", ClientAuth.REQUIRE), ("x", ClientAuth.NONE)]
)
def test_client_authentication_is_one_of_three_words_in_any_case(tmp_path: Path, text: str, auth: ClientAuth) -> None:
    """B075."""
    assert read(tmp_path, f"tls.server.need.client.auth={text}", {}).client_auth is auth


def test_the_file_wins_over_system_properties_but_for_the_mode(tmp_path: Path) -> None:
    """B069: and both win over the configuration file."""
    file = "tls.server.mode=disabled\ntls.enable=true\ntls.test.mode.enable=false\ntls.server.keyPath=file.key\n"
    system = {"tls.server.mode": "enforcing", "tls.server.keyPath": "system.key", "tls.server.certPath": "system.pem"}
    given = {
        "tls.server.keyPath": "given.key",
        "tls.server.certPath": "given.pem",
        "tls.server.trustCertPath": "given.ca",
    }
    config = read(tmp_path, file, system, given)
    assert (config.mode, config.enable, config.test_mode) == (TlsMode.ENFORCING, False, False)
    assert (config.server.key_path, config.server.cert_path) == ("file.key", "system.pem")
    assert config.server.trust_cert_path == "given.ca"


OTHERS = {"tls.server.mode": "disabled", "tls.server.need.client.auth": "require", "tls.test.mode.enable": "false"}


@pytest.mark.parametrize("name", [one.name for one in TLS_PROPERTIES if one.name != "tls.config.file"])
def test_every_documented_property_is_read(tmp_path: Path, name: str) -> None:
    """If this fails, `TlsConfig.read` does not read a property of TLS_PROPERTIES: read it, or take it off the list."""
    assert read(tmp_path, None, {name: OTHERS.get(name, "true")}) != read(tmp_path, None, {})


# The journal's properties: names, limits, and an id that is a valid folder name on every system.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("journalBufferBytes=1", f"journalBufferBytes is 1, but must be a number from {BUFFER_BYTES_MIN} to"),
        ("journalLookupClients=maybe", "journalLookupClients is 'maybe', but must be true or false"),
    ],
)
def test_an_unusable_journal_setting_stops_the_start(tmp_path: Path, text: str, message: str) -> None:
    """The sentence names the property, its value and what it may be."""
    with pytest.raises(StartupError, match=re.escape(message)):
        build(tmp_path, f"{text}\n")


@pytest.mark.parametrize("ns", ["a/b", "x" * 129])
def test_an_id_that_is_no_folder_name_stops_the_start(tmp_path: Path, ns: str) -> None:
    with pytest.raises(StartupError, match="journalNs is"):
        build(tmp_path, f"journalNs={ns}\n")


@pytest.mark.parametrize(
    ("bind_address", "expected"), [("10.0.0.1", "10.0.0.1_9876"), ("fe80::1%eth0", "fe80--1-eth0_9876")]
)
def test_the_id_is_host_and_port_by_default(bind_address: str, expected: str) -> None:
    assert JournalConfig().ns(bind_address, 9876) == expected


# The properties about the name servers of the cluster.


def config(**given: str) -> DiscoveryConfig:
    made = DiscoveryConfig()
    made.update({f"rocketns.{name}": text for name, text in given.items()})
    return made


@pytest.mark.parametrize("text", ["a:1;;b", ";".join(["a:1"] * 17)])
def test_a_list_of_peers_that_cannot_be_one_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=r"^rocketns\.peers "):
        config(peers=text)


@pytest.mark.parametrize("text", ["a:0"])
def test_an_announced_address_that_cannot_be_one_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=r"^rocketns\.announcedAddress has"):
        config(announcedAddress=text)


@pytest.mark.parametrize(
    ("text", "at"), [(":8080", ("10.0.0.1", 8080)), ("127.0.0.1:8080", ("127.0.0.1", 8080)), (":::8080", ("::", 8080))]
)
def test_the_address_server_listens_at_a_host_and_port_or_at_a_port(text: str, at: tuple[str, int]) -> None:
    assert config(addressServer=text).address_server_at("10.0.0.1") == at


@pytest.mark.parametrize("text", ["on", "65536"])
def test_an_address_server_elsewhere_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=r"^rocketns\.addressServer is"):
        config(addressServer=text)
