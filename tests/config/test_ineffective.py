"""A setting without effect is named with the reason, and with the name that was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.config import Configuration


def configured(home: Path, text: str = "", **system: str) -> Configuration:
    file = home / "given.properties"
    file.write_text(text)
    return Configuration.build(str(file), home=home, system=system)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("listenPort=abc", "listenPort=abc has no effect: it is not a number from 0 to 65535. 9876 is used"),
        ("listenPort=", "listenPort= has no effect: it is not a number from 0 to 65535. 9876 is used"),
        ("clusterTest=1", "clusterTest=1 counts as false: it is neither true nor false"),
        ("listenport=1", "listenport has no effect: the property is called listenPort"),
        ("listenPrt=1", "listenPrt has no effect: rocketns has no such property. The nearest name is listenPort"),
        ("rocketns.listenPort=1", "rocketns.listenPort has no effect: the property is called listenPort"),
        ("connectionsMax=1", "connectionsMax has no effect: the property is called rocketns.connectionsMax"),
        (
            "rocketns.inFlight=1",
            "rocketns.inFlight has no effect: rocketns has no such property. The nearest name is rocketns.inFlightMax",
        ),
        ("rocketns.qqqqqqqqqqqqqqqqqqq=1", "rocketns.qqqqqqqqqqqqqqqqqqq has no effect: rocketns has no such property"),
        (
            "journalPaht=x",
            "journalPaht has no effect: rocketns has no such property. The nearest name is journalPath",
        ),
        (
            "tls.server.keypth=x",
            "tls.server.keypth has no effect: rocketns has no such property. The nearest name is tls.server.keyPath",
        ),
    ],
)
def test_a_setting_of_the_file_without_effect_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    assert configured(tmp_path, f"{line}\n").passed_over() == [sentence]


@pytest.mark.parametrize(
    "line",
    ["listenPort=1", "clusterTest=FALSE", "rocketns.reactors=1", "journalPath=x", "tls.server.mode=x", "custom=1",
     "listenAddress=a", "productEnvName="],
)  # fmt: skip
def test_a_setting_with_effect_and_a_name_of_the_operator_s_own_are_not_named(tmp_path: Path, line: str) -> None:
    """Java keeps and shows a name that it does not know."""
    assert configured(tmp_path, f"{line}\n").passed_over() == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("rocketns.reactors", "-Drocketns.reactors has no effect: set rocketns.reactors in the file that -c names"),
        ("listenPort", "-DlistenPort has no effect: set listenPort in the file that -c names"),
        ("journalPath", "-DjournalPath has no effect: set journalPath in the file that -c names"),
        (
            "rocketns.reactor",
            "-Drocketns.reactor has no effect: rocketns has no such property. The nearest name is rocketns.reactors",
        ),
        (
            "tls.server.mod",
            "-Dtls.server.mod has no effect: rocketns has no such property. The nearest name is tls.server.mode",
        ),
    ],
)
def test_a_system_property_without_effect_is_named(tmp_path: Path, name: str, sentence: str) -> None:
    configuration = configured(tmp_path, **{name: "1"})
    assert configuration.passed_over_system_properties() == [sentence]
    assert configuration.passed_over() == []


@pytest.mark.parametrize(
    "name", ["tls.server.mode", "user.home", "rocketmq.namesrv.addr", "file.encoding", "java.io.tmpdir", "listenPrts"]
)
def test_a_system_property_that_is_read_or_java_s_is_not_named(tmp_path: Path, name: str) -> None:
    """JAVA_OPT contains properties for the JVM."""
    assert configured(tmp_path, **{name: "1"}).passed_over_system_properties() == []
