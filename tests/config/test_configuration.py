"""All properties together: their sources, which ones may change, and the file that is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rocketns import files
from rocketns.config import CompatibleConfig, Configuration, properties
from rocketns.config.checks import CONTROL_CHARACTER
from rocketns.errors import NoPermission, RequestError, StartupError
from rocketns.javatext import trim


def build(home: Path, text: str | bytes | None = None, **more: dict[str, str]) -> Configuration:
    if text is None:
        return Configuration.build(home=home, **more)  # type: ignore[arg-type]
    file = home / "given.properties"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Configuration.build(str(file), home=home, **more)  # type: ignore[arg-type]


def test_the_file_wins_and_is_written_back_to(tmp_path: Path) -> None:
    """B234, B246: the path on the command line also wins over a path in the file."""
    configuration = build(
        tmp_path, "listenPort=0\nconfigStorePath=/elsewhere\nclusterTest=true\ncustom=abc\nwaitSecondsForService="
    )
    assert (configuration.netty.listen_port, configuration.namesrv.cluster_test) == (0, True)
    assert configuration.namesrv.wait_seconds_for_service == 45
    assert configuration.namesrv.config_store_path == str(tmp_path / "given.properties")
    assert configuration.extra == {"custom": "abc"}


def test_all_is_shown_sorted_and_unescaped(tmp_path: Path) -> None:
    """B234: a value with a line break makes a bogus line, as in Java."""
    configuration = build(tmp_path, "aFirst=1\\n2\nzLast=\\u00e9\nrocketns.connectionsMax=7\n")
    lines = configuration.text().splitlines()
    assert lines[:3] == ["aFirst=1", "2", "bindAddress=0.0.0.0"]
    assert lines[-2:] == ["writeBufferLowWaterMark=0", "zLast=é"]
    assert "rocketns.connectionsMax=7" in lines
    assert list(configuration.items()) == sorted(configuration.items())
    assert "rocketmqHome" not in configuration.items()


def test_passwords_are_not_shown_and_stay_in_the_file(tmp_path: Path) -> None:
    """Any peer may send request 319, and what 318 changes is written back with all else."""
    configuration = build(tmp_path, "tls.server.keyPassword=s3cret\nstorePassword=t0p\ntls.server.keyPath=/k\n")
    assert "tls.server.keyPath=/k\n" in configuration.text()
    assert not any(word in configuration.text() for word in ("s3cret", "t0p", "Password"))
    assert configuration.update(b"storePassword=n3w") == {"storePassword": "n3w"}
    assert kept(configuration, "tls.server.keyPassword") == "s3cret"
    assert kept(configuration, "storePassword") == "n3w"
    assert configuration.read_tls().server.key_password == "s3cret"


@pytest.mark.parametrize(
    ("text", "message"), [(None, "Cannot read the configuration file"), (b"a=\\u12", "is not a Java properties file")]
)
def test_a_file_that_cannot_be_read_stops_the_start(tmp_path: Path, text: bytes | None, message: str) -> None:
    """B244: exit status 255."""
    with pytest.raises(StartupError, match=message) as raised:
        build(tmp_path, text) if text else Configuration.build(str(tmp_path / "none"), home=tmp_path)
    assert raised.value.exit_status == 255


@pytest.mark.parametrize("text", ["98x6", "9876 ", "70000"])
def test_a_number_that_is_none_or_out_of_range_stops_the_start_and_is_not_taken_at_sighup(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The message has it in quotes, so that a blank at its end is seen."""
    with pytest.raises(StartupError, match=rf"^listenPort is '?{text}'?, but must be a number from 0 to 65535$"):
        build(tmp_path, f"listenPort={text}\n")
    configuration = build(tmp_path, "waitSecondsForService=50\n")
    (tmp_path / "given.properties").write_text(f"listenPort={text}\nwaitSecondsForService=7\n")
    assert configuration.reread() == {}
    assert "the configuration is not changed: listenPort is" in caplog.text


@pytest.mark.parametrize("line", ["rocketns.adminPort=x", "rocketns.peers=none", "journalNs=a/b", "rocketns.mute=yes"])
def test_sighup_takes_nothing_of_a_file_with_which_the_server_would_not_start(tmp_path: Path, line: str) -> None:
    configuration = build(tmp_path, "rocketns.peers=10.0.0.1:9876\n")
    (tmp_path / "given.properties").write_text(f"rocketns.peers=10.0.0.2:9876\nwaitSecondsForService=7\n{line}\n")
    assert configuration.reread() == {}
    assert (configuration.discovery.peers, configuration.namesrv.wait_seconds_for_service) == ("10.0.0.1:9876", 45)


def test_an_update_changes_what_is_known_and_says_what(tmp_path: Path) -> None:
    """B235, B236, B237, B242."""
    configuration = build(tmp_path, "custom=1\n")
    changed = configuration.update(
        b"waitSecondsForService=7\nlistenPort=9876\ncustom=2\nunknown=3\nserverWorkerThreads=x"
    )
    assert changed == {"waitSecondsForService": "7", "custom": "2"}
    assert configuration.namesrv.wait_seconds_for_service == 7
    assert "unknown" not in configuration.items()


@pytest.mark.parametrize("name", ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"])
def test_some_keys_are_always_black(tmp_path: Path, name: str) -> None:
    """B238: also where the property that lists them is empty."""
    configuration = build(tmp_path, "configBlackList=\n")
    with pytest.raises(NoPermission, match=r"Can not update config in black list\."):
        configuration.update(f"waitSecondsForService=7\n{name}=x".encode())
    assert configuration.namesrv.wait_seconds_for_service == 45


def test_the_black_list_is_read_at_the_start(tmp_path: Path) -> None:
    """B238."""
    configuration = build(tmp_path, "configBlackList=waitSecondsForService;clusterTest\n")
    for name in ("waitSecondsForService", "clusterTest", "kvConfigPath"):
        with pytest.raises(NoPermission):
            configuration.update(f"{name}=1".encode())
    assert configuration.update(b"productEnvName=x") == {"productEnvName": "x"}


def kept(configuration: Configuration, name: str) -> str:
    """The configuration that the next start would read."""
    return properties.load(configuration.file_content())[name]


def test_values_that_318_may_not_keep_never_reach_the_file(tmp_path: Path) -> None:
    """After any number of them; a value that may be kept is kept."""
    configuration = build(tmp_path, "waitSecondsForService=50\n")
    for value in (1_000, 2_000):
        configuration.update(b"waitSecondsForService=%d" % value)
        assert configuration.namesrv.wait_seconds_for_service == value
        assert kept(configuration, "waitSecondsForService") == "50"
    configuration.update(b"waitSecondsForService=30")
    assert kept(configuration, "waitSecondsForService") == "30"


def test_the_file_of_the_operator_replaces_a_withheld_value(tmp_path: Path) -> None:
    """After SIGHUP the file has the operator's value, even one that 318 may not write."""
    configuration = build(tmp_path, "waitSecondsForService=50\n")
    configuration.update(b"waitSecondsForService=1000")
    (tmp_path / "given.properties").write_text("waitSecondsForService=2000\n")
    configuration.reread()
    assert kept(configuration, "waitSecondsForService") == "2000"


def test_sighup_keeps_properties_of_the_start(tmp_path: Path) -> None:
    """The port of a running server is the one it listens on, even if the file has changed."""
    configuration = build(tmp_path, "listenPort=0\nwaitSecondsForService=50\n")
    (tmp_path / "given.properties").write_text("listenPort=1\nwaitSecondsForService=7\n")
    assert configuration.reread() == {"waitSecondsForService": "7"}
    assert configuration.netty.listen_port == 0


def test_sighup_reads_the_rates_of_hosts_and_no_other_limit(tmp_path: Path) -> None:
    """A bad number changes nothing, in the other properties of the file neither."""
    configuration = build(tmp_path, "rocketns.hostRequestsPerSecond=5\nrocketns.connectionsMax=100\n")
    limits, file = configuration.limits, tmp_path / "given.properties"
    file.write_text("rocketns.hostRequestsPerSecond=7\nrocketns.connectionsMax=9\n")
    configuration.reread()
    assert (limits.host_requests_per_second, limits.connections_max) == (7, 100)
    file.write_text("rocketns.hostRequestsPerSecond=-1\nrocketns.hostConnectionsPerSecond=8\nwaitSecondsForService=9\n")
    assert configuration.reread() == {}
    assert (limits.host_requests_per_second, limits.host_connections_per_second) == (7, 0)
    file.write_text("rocketns.hostConnectionsPerSecond=8\n")
    configuration.reread()
    assert (limits.host_requests_per_second, limits.host_connections_per_second) == (0, 8)


@pytest.mark.parametrize("name", ["productEnvName", "custom"])
def test_a_value_with_a_control_character_is_refused(tmp_path: Path, name: str) -> None:
    """For a known property and for a key of the operator's file."""
    configuration = build(tmp_path, "custom=1\n")
    before = configuration.text()
    with pytest.raises(RequestError, match=f"the value of {name} has a control character"):
        configuration.update(f"{name}=a\\u0007b".encode())
    assert configuration.text() == before


def escaped(text: str) -> str:
    """Every character as a UTF-16 escape of the properties format."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


# Separate lone surrogates: to Java, two that form a pair are one character.
TEXTS = st.text(st.characters(exclude_categories=()), max_size=20).map(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(own=TEXTS, key=TEXTS, env=TEXTS)
@example(own=" # = : \\ \u2028\ud800", key="a b=c:d#!\\", env="x\x00y")
def test_the_next_start_reads_only_the_values_that_were_set(tmp_path: Path, own: str, key: str, env: str) -> None:
    """B235, B241: any text, as a value and as a key of the operator's file. A refused text changes nothing."""
    key = f"k{key}"
    configuration = build(tmp_path, f"{escaped(key)}=1\nlistenPort=0\n")
    items = configuration.items()
    expected = items | {key: own, "productEnvName": trim(env)}
    try:
        configuration.update(f"{escaped(key)}={escaped(own)}\nproductEnvName={escaped(env)}\n".encode())
    except RequestError:
        assert any(CONTROL_CHARACTER.search(text) for text in (own, trim(env)))
        expected = items
    assert configuration.items() == expected
    files.replace_with_backup(tmp_path / "given.properties", [configuration.file_content()])
    again = Configuration.build(str(tmp_path / "given.properties"), home=tmp_path)
    assert again.items() == expected


@pytest.mark.parametrize(
    ("system", "environment", "expected"),
    [
        ({}, {}, "JSON"),
        ({"rocketmq.serialize.type": "JSON"}, {"ROCKETMQ_SERIALIZE_TYPE": "ROCKETMQ"}, "JSON"),
        ({"rocketmq.serialize.type": " "}, {}, "JSON"),
    ],
)
def test_the_serialize_type_comes_from_the_process(
    tmp_path: Path, system: dict[str, str], environment: dict[str, str], expected: str
) -> None:
    """B033."""
    assert build(tmp_path, system=system, environment=environment).serialize_type == expected


@pytest.mark.parametrize("text", ["5.5", "5.5.2"])
def test_any_other_release_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=f"^rocketns.compatibleVersion is '{text}', but must be 5.5.0 or 5.5.1$"):
        CompatibleConfig().update({"rocketns.compatibleVersion": text})


# What Java takes for another text without a word.
MISREAD = {
    "tls.server.mode=enforcng": "tls.server.mode='enforcng' counts as permissive: it is none of disabled, permissive, "
    "enforcing",
    "tls.server.mode=enforcing ": "tls.server.mode='enforcing ' counts as permissive: it is none of disabled, "
    "permissive, enforcing",
    "tls.server.need.client.auth=requires": "tls.server.need.client.auth='requires' counts as none: it is none of "
    "none, optional, require",
    "tls.server.authClient=ture": "tls.server.authClient='ture' counts as false: it is neither true nor false",
}


# A setting without effect is named with the reason, and with the name that was probably meant.


def warned(configuration: Configuration, source: str = "configuration file") -> list[str]:
    """What is wrong in one of the sources."""
    return [one.removeprefix(f"{source}: ") for one in configuration.warnings() if one.startswith(source)]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("clusterTest=1", "clusterTest='1' counts as false: it is neither true nor false"),
        ("clusterTest=true ", "clusterTest='true ' counts as false: it is neither true nor false"),
        ("listenport=1", "'listenport' has no effect: the property is called listenPort"),
        ("listenPrt=1", "'listenPrt' has no effect: rocketns has no such property. The nearest name is listenPort"),
        ("connectionsMax=1", "'connectionsMax' has no effect: the property is called rocketns.connectionsMax"),
        ("rocketns.qqqqqqqqqqqqqqq=1", "'rocketns.qqqqqqqqqqqqqqq' has no effect: rocketns has no such property"),
        ("custom=1", "'custom' has no effect: rocketns has no such property"),
        (
            "tls.server.keypth=x",
            "'tls.server.keypth' has no effect: rocketns has no such property. The nearest name is tls.server.keyPath",
        ),
        *MISREAD.items(),
        ("kvConfigPath= ", "kvConfigPath is empty: KV items are kept in memory, and a restart loses them"),
    ],
)
def test_a_setting_of_the_file_without_effect_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    assert warned(build(tmp_path, f"{line}\n")) == [sentence]


@pytest.mark.parametrize(
    "line",
    ["clusterTest=FALSE", "tls.server.mode=enforcing", "tls.server.need.client.auth=REQUIRE", "tls.server.mode=",
     "productEnvName=", "listenPort="],
)  # fmt: skip
def test_a_setting_with_effect_is_not_named(tmp_path: Path, line: str) -> None:
    assert warned(build(tmp_path, f"{line}\n")) == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("rocketns.reactors", "-Drocketns.reactors has no effect: set rocketns.reactors in the file that -c names"),
        (
            "tls.server.mod",
            "'-Dtls.server.mod' has no effect: rocketns has no such property. The nearest name is tls.server.mode",
        ),
    ],
)
def test_a_system_property_without_effect_is_named(tmp_path: Path, name: str, sentence: str) -> None:
    configuration = build(tmp_path, system={name: "1"})
    assert warned(configuration, "command line") == [sentence]
    assert warned(configuration) == []


def test_a_word_that_tls_does_not_have_is_named_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "tls.properties").write_text("\n".join((*MISREAD, "tls.server.keypath=x")))
    given = dict(line.partition("=")[::2] for line in MISREAD)
    expected = list({line.partition("=")[0]: sentence for line, sentence in MISREAD.items()}.values())
    configuration = build(tmp_path, system=given | {"tls.config.file": str(tmp_path / "tls.properties")})
    assert warned(configuration, "command line") == expected
    unknown = "'tls.server.keypath' has no effect: the property is called tls.server.keyPath"
    assert warned(configuration, "TLS properties file") == [unknown, *expected]


@pytest.mark.parametrize("name", ["rocketmq.namesrv.addr", "java.io.tmpdir", "listenPrts"])
def test_a_system_property_that_is_read_or_java_s_is_not_named(tmp_path: Path, name: str) -> None:
    """JAVA_OPT contains properties for the JVM."""
    assert build(tmp_path, system={name: "1"}).warnings() == []
