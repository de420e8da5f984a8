"""The TLS properties: precedence of their sources, and how texts are parsed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocketns.config import Configuration, DiscoveryConfig, JournalConfig
from rocketns.config.journal import BUFFER_BYTES_MIN, NS_SAFE
from rocketns.config.tls import TLS_PROPERTIES, ClientAuth, TlsConfig, TlsMode
from rocketns.errors import StartupError


def read(tmp_path: Path, file: str | None, system: dict[str, str], given: dict[str, str] | None = None) -> TlsConfig:
    path = tmp_path / "tls.properties"
    if file is not None:
        path.write_text(file, "latin-1")
    return TlsConfig.read({"tls.config.file": str(path)} | system, given or {})


def test_defaults(tmp_path: Path) -> None:
    """B065, B075: no file is needed."""
    config = read(tmp_path, None, {})
    assert (config.mode, config.enable, config.test_mode) == (TlsMode.PERMISSIVE, False, True)
    assert (config.client_auth, config.server.verify_peer, config.server.key_path) == (ClientAuth.NONE, False, "")
    assert config.ciphers == config.protocols == ()


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("disabled", TlsMode.DISABLED), ("permissive", TlsMode.PERMISSIVE), ("enforcing", TlsMode.ENFORCING),
        ("ENFORCING", TlsMode.PERMISSIVE), ("x", TlsMode.PERMISSIVE), ("", TlsMode.PERMISSIVE),
    ],
)  # fmt: skip
def test_the_mode_is_one_of_three_words(tmp_path: Path, text: str, mode: TlsMode) -> None:
    """B068."""
    assert read(tmp_path, None, {"tls.server.mode": text}).mode is mode


@pytest.mark.parametrize(
    ("text", "auth"),
    [
        ("optional", ClientAuth.OPTIONAL),
        ("REQUIRE", ClientAuth.REQUIRE),
        ("None", ClientAuth.NONE),
        ("x", ClientAuth.NONE),
    ],
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


def test_the_two_sides_have_their_own_files(tmp_path: Path) -> None:
    file = "\n".join(f"tls.{side}.{name}={side}-{name}" for side in ("server", "client")
                     for name in ("keyPath", "keyPassword", "certPath", "trustCertPath"))  # fmt: skip
    config = read(tmp_path, f"{file}\ntls.server.authClient=true\ntls.client.authServer=TRUE\n", {})
    for side, name in ((config.server, "server"), (config.client, "client")):
        assert (side.key_path, side.key_password) == (f"{name}-keyPath", f"{name}-keyPassword")
        assert (side.cert_path, side.trust_cert_path) == (f"{name}-certPath", f"{name}-trustCertPath")
        assert side.verify_peer


def test_ciphers_and_protocols_are_lists(tmp_path: Path) -> None:
    config = read(tmp_path, "tls.ciphers=A, B ,,\ntls.protocols=TLSv1.2,TLSv1.3\n", {})
    assert (config.ciphers, config.protocols) == (("A", "B"), ("TLSv1.2", "TLSv1.3"))


@pytest.mark.parametrize("file", ["tls.server.keyPath=\\u12\n", "tls.server.keyPath"])
def test_a_file_that_does_not_parse_is_as_good_as_none(tmp_path: Path, file: str) -> None:
    assert read(tmp_path, file, {"tls.enable": "true"}).server.key_path == ""


def test_the_file_is_read_anew_at_every_call(tmp_path: Path) -> None:
    """B071."""
    assert read(tmp_path, "tls.server.keyPath=one", {}).server.key_path == "one"
    assert read(tmp_path, "tls.server.keyPath=two", {}).server.key_path == "two"


OTHERS = {"tls.server.mode": "disabled", "tls.server.need.client.auth": "require", "tls.test.mode.enable": "false"}


@pytest.mark.parametrize("name", [one.name for one in TLS_PROPERTIES if one.name != "tls.config.file"])
def test_every_documented_property_is_read(tmp_path: Path, name: str) -> None:
    """If this fails, `TlsConfig.read` does not read a property of TLS_PROPERTIES: read it, or take it off the list."""
    assert read(tmp_path, None, {name: OTHERS.get(name, "true")}) != read(tmp_path, None, {})


def test_every_documented_default_is_the_default(tmp_path: Path) -> None:
    """Setting each property to its default changes nothing."""
    defaults = {one.name: one.default for one in TLS_PROPERTIES if one.name != "tls.config.file"}
    assert read(tmp_path, None, defaults) == read(tmp_path, None, {})


# The journal's properties: names, limits, and an id that is a valid folder name on every system.


def built(tmp_path: Path, text: str) -> JournalConfig:
    file = tmp_path / "a.properties"
    file.write_text(text)
    return Configuration.build(str(file), home=tmp_path).journal


def test_there_is_no_journal_unless_a_folder_is_named(tmp_path: Path) -> None:
    assert built(tmp_path, "").journal_path == ""
    assert built(tmp_path, "journalPath=/var/j\n").journal_path == "/var/j"


def test_properties_are_read_from_the_file(tmp_path: Path) -> None:
    config = built(tmp_path, "journalNs=a.b_c-1\njournalRetentionBytes=5000000000\njournalLookupClients=true\n")
    assert config.journal_ns == "a.b_c-1"
    assert config.journal_retention_bytes == 5_000_000_000
    assert config.journal_lookup_clients is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("journalBufferBytes=1", f"journalBufferBytes is 1, but must be a number from {BUFFER_BYTES_MIN} to"),
        ("journalFsyncMs=0", "journalFsyncMs is 0, but must be a number from 1 to 60000"),
        ("journalRotationSeconds=-5", "journalRotationSeconds is -5, but must be"),
        ("journalRetentionDays=soon", "journalRetentionDays is 'soon', but must be"),
        ("journalLookupClients=maybe", "journalLookupClients is 'maybe', but must be true or false"),
    ],
)
def test_an_unusable_journal_setting_stops_the_start(tmp_path: Path, text: str, message: str) -> None:
    """The sentence names the property, its value and what it may be."""
    with pytest.raises(StartupError, match=re.escape(message)):
        built(tmp_path, f"{text}\n")


@pytest.mark.parametrize("ns", ["a/b", "a%b", "a:1", "x" * 129, "a b", "a=b"])
def test_an_id_that_is_no_folder_name_stops_the_start(tmp_path: Path, ns: str) -> None:
    with pytest.raises(StartupError, match="journalNs is"):
        built(tmp_path, f"journalNs={ns}\n")


@pytest.mark.parametrize(
    ("bind_address", "expected"),
    [("10.0.0.1", "10.0.0.1_9876"), ("fe80::1%eth0", "fe80--1-eth0_9876"), ("ns.example.com", "ns.example.com_9876")],
)
def test_the_id_is_host_and_port_by_default(bind_address: str, expected: str) -> None:
    assert JournalConfig().ns(bind_address, 9876) == expected


@pytest.mark.parametrize("bind_address", ["0.0.0.0", "::", ""])
def test_a_server_on_all_addresses_is_called_by_its_machine(bind_address: str) -> None:
    ns = JournalConfig().ns(bind_address, 1)
    assert NS_SAFE.fullmatch(ns)
    assert re.fullmatch(r".+_1", ns)


def test_a_given_id_is_taken() -> None:
    assert JournalConfig(journal_ns="n1").ns("10.0.0.1", 9876) == "n1"


# The properties about the name servers of the cluster.


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
