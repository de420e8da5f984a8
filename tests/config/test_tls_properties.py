"""The TLS properties: precedence of their sources, and how texts are parsed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketns.config.tls import TLS_PROPERTIES, ClientAuth, TlsConfig, TlsMode


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
