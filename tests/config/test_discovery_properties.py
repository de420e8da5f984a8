"""The properties about the name servers of the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.config import Configuration, DiscoveryConfig
from rocketns.errors import StartupError


def config(**given: str) -> DiscoveryConfig:
    made = DiscoveryConfig()
    made.update({f"rocketns.{name}": text for name, text in given.items()})
    return made


@pytest.mark.parametrize(
    "text", ["a", "a:", ":9876", "a:b", "a:0", "a:65536", "a:1;;b", "a b:1", ";".join(["a:1"] * 17)]
)
def test_a_list_of_peers_that_cannot_be_one_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=r"^rocketns\.peers "):
        config(peers=text)


def test_peers_are_kept_as_they_are_written() -> None:
    """Names, IPv6 addresses with and without brackets, and with a scope."""
    made = config(peers=" ns-1:9876 ; [::1]:9877;fe80::1%eth0:9876;")
    assert made.peer_addresses == ["ns-1:9876", "[::1]:9877", "fe80::1%eth0:9876"]


@pytest.mark.parametrize("text", ["a", "a:0", "a b:1"])
def test_an_announced_address_that_cannot_be_one_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=r"^rocketns\.announcedAddress has"):
        config(announcedAddress=text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("8080", ("10.0.0.1", 8080)),
        (":8080", ("10.0.0.1", 8080)),
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("[::1]:8080", ("::1", 8080)),
        (":::8080", ("::", 8080)),
    ],
)
def test_the_address_server_listens_at_a_host_and_port_or_at_a_port(text: str, at: tuple[str, int]) -> None:
    assert config(addressServer=text).address_server_at("10.0.0.1") == at


@pytest.mark.parametrize("text", ["on", "host", "a:b", "65536", "-1", "a b:1"])
def test_an_address_server_elsewhere_stops_the_start(text: str) -> None:
    with pytest.raises(StartupError, match=r"^rocketns\.addressServer is"):
        config(addressServer=text)


def test_peers_are_read_again(tmp_path: Path) -> None:
    """An invalid list changes nothing, and the other properties of its file are not applied either."""
    file = tmp_path / "namesrv.properties"

    def written(peers: str, wait_s: int) -> None:
        file.write_text(f"rocketns.peers={peers}\nwaitSecondsForService={wait_s}\n", "utf-8")

    written("a:1", 1)
    configuration = Configuration.build(str(file), home=tmp_path)
    written("a:1;b:1", 2)
    assert configuration.reread() == {"waitSecondsForService": "2"}
    assert configuration.discovery.peer_addresses == ["a:1", "b:1"]
    written("a", 3)
    assert configuration.reread() == {}
    assert configuration.discovery.peer_addresses == ["a:1", "b:1"]
    file.write_text("", "utf-8")
    configuration.reread()
    assert configuration.discovery.peer_addresses == []
