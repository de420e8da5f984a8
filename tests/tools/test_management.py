"""`rocketns get connections` at a management port with TLS and tokens."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from rocketns.__main__ import main
from tests.support import certificates
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsfiles import as_options, tls_properties

TOKEN, OTHER = "token-of-read-0123456789", "token-of-probe-0123456789"


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, ours: Identity) -> Path:
    made = tmp_path_factory.mktemp("files")
    (made / "ca.pem").write_bytes(ours.certificate_pem())
    (made / "tokens").write_text(f"read {TOKEN}\nprobe {OTHER}\n")
    for name, text in (("token", f"{TOKEN}\n"), ("other", OTHER), ("two", f"{TOKEN} {OTHER}"), ("none", "\n")):
        (made / name).write_text(text)
    return made


def for_address(ours: Identity) -> Identity:
    """A certificate that is valid for 127.0.0.1."""
    key = certificates._key(0)
    builder = certificates.builder_of("ns", ours.certificate.subject, key, ca=False)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    return Identity(builder.add_extension(names, critical=False).sign(ours.key, hashes.SHA256()), key)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[RocketnsServer]:
    given = {"rocketns.adminPort": free_port(), "rocketns.adminTokensFile": folder / "tokens"}
    server = RocketnsServer(tmp_path_factory.mktemp("plain"), given)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, folder: Path, ours: Identity) -> Iterator[RocketnsServer]:
    files = Files.write(folder / "tls", for_address(ours))
    given = {"rocketns.adminPort": free_port(), "rocketns.adminTls": "true",
             "rocketns.adminTokensFile": folder / "tokens"}  # fmt: skip
    server = RocketnsServer(tmp_path_factory.mktemp("secured"), given, options=as_options(tls_properties(files)))
    yield server
    server.kill()


def words(server: RocketnsServer, *more: str) -> list[str]:
    return ["get", "connections", "-n", f"127.0.0.1:{server.port}", *more]


def test_the_token_of_a_file_or_of_the_environment_opens_the_port(
    plain: RocketnsServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(words(plain, "--token-file", str(folder / "token"))) == 0
    monkeypatch.setenv("ROCKETNS_ADMIN_TOKEN", TOKEN)
    assert main(words(plain)) == 0
    assert main(words(plain, "--token-file", str(folder / "other"))) == 2


@pytest.mark.parametrize(
    ("file", "says"),
    [(None, "asks for a token that it knows: give one by --token-file or ROCKETNS_ADMIN_TOKEN"),
     ("other", "needs a token of the class read"), ("two", "must have one token and nothing else"),
     ("none", "must have one token and nothing else"), ("missing", "cannot be read: No such file")],
)  # fmt: skip
def test_without_the_right_token_it_says_what_to_do_and_shows_none(
    plain: RocketnsServer, folder: Path, capsys: pytest.CaptureFixture[str], file: str | None, says: str
) -> None:
    assert main(words(plain, *([] if file is None else ["--token-file", str(folder / file)]))) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert not any(token in shown.err + shown.out for token in (TOKEN, OTHER))


def test_a_token_that_no_header_can_have_is_not_shown(
    plain: RocketnsServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCKETNS_ADMIN_TOKEN", f"{TOKEN}\nX: y")
    assert main(words(plain)) == 2
    shown = capsys.readouterr()
    assert "ROCKETNS_ADMIN_TOKEN must have one token and nothing else" in shown.err
    assert TOKEN not in shown.err


def test_the_servers_certificate_is_verified_before_a_token_is_sent(
    secured: RocketnsServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = ["--token-file", str(folder / "token")]
    assert main(words(secured, *token, f"-Dtls.client.trustCertPath={folder / 'ca.pem'}")) == 0
    assert main(words(secured, *token)) == 2
    assert "certificate verify failed" in capsys.readouterr().err
    assert main(words(secured, *token, f"-Dtls.client.trustCertPath={folder / 'token'}")) == 2
    assert "the files of tls.client.… cannot be used" in capsys.readouterr().err


def test_who_names_an_authority_sends_no_token_without_tls(
    plain: RocketnsServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--token-file", str(folder / "token"), f"-Dtls.client.trustCertPath={folder / 'ca.pem'}"]
    assert main(words(plain, *more)) == 2
    assert "takes no TLS, so the token is not sent" in capsys.readouterr().err
