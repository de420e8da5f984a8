"""The commands against real name servers: what they print, their exit statuses, and the keys and tokens they send."""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from interop.harness import codes, payloads
from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from rocketns.__main__ import TOOLS, main
from rocketns.errors import RocketnsError
from rocketns.tools.keys import read_signer
from tests.access.signing import KEY, SECRET, TOPIC
from tests.support import certificates
from tests.support.certificates import Files, Identity, authority
from tests.support.inprocess import TimedServer
from tests.support.policies import whole
from tests.support.tlsfiles import as_options, tls_properties

ROOT = Path(__file__).resolve().parents[2]
NOBODY = "127.0.0.1:1"
A, B = "10.0.0.1:10911", "10.0.0.2:10911"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The addresses of two that have the brokers a and b."""
    with ExitStack() as stack:
        addrs = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            server = TimedServer(tmp_path / name)
            stack.callback(server.stop)
            client = stack.enter_context(server.connect())  # as long as it is open, the brokers are there
            for broker, addr, topics in (("a", A, ("T", "U\x1b[2J")), ("b", B, ("T", "V"))):
                body = payloads.register_body([payloads.topic_config(topic) for topic in topics])
                zone = {"__ZONE_NAME": "z1"} if broker == "a" else {}
                ext = payloads.register_ext(broker=broker, addr=addr, body=body, **zone)
                assert client.request(codes.REGISTER_BROKER, ext, body).code == 0
            addrs.append(f"127.0.0.1:{server.port}")
        yield addrs[0], addrs[1]


def printed(capsys: Captured, *words: str) -> tuple[int, str]:
    """The exit status and the standard output."""
    status = main(words)
    return status, capsys.readouterr().out


def test_what_a_name_server_has_is_printed(servers: tuple[str, str], capsys: Captured) -> None:
    at = ("-n", servers[0])
    status, shown = printed(capsys, "get", "brokers", *at)
    rows = [line.split() for line in shown.splitlines()]
    assert (status, rows[0][:4]) == (0, ["CLUSTER", "BROKER", "ID", "ADDRESS"])
    assert rows[1:] == [["C1", "a", "0", A, "z1", "no"], ["C1", "b", "0", B, "-", "no"]]
    assert json.loads(printed(capsys, "get", "brokers", "--json", *at)[1])["a"]["brokerAddrs"] == {"0": A}
    assert printed(capsys, "get", "topics", *at) == (0, "TOPIC\nT\nU\\x1b[2J\nV\n")
    status, shown = printed(capsys, "get", "route", "V", *at)
    assert (status, shown.splitlines()[1].split()) == (0, ["b", "8", "8", "6", "0"])
    assert json.loads(printed(capsys, "get", "route", "V", "--json", *at)[1])["queues"]["b"]["perm"] == 6
    assert printed(capsys, "get", "kv", *at) == (0, "KEY  VALUE\n")
    assert json.loads(printed(capsys, "get", "config", "--json", *at)[1])["listenPort"] == servers[0].split(":")[1]
    top = json.loads(printed(capsys, "top", servers[0], "--json", "--rounds", "1")[1])
    assert {*top[servers[0]]["brokers"]} == {"a", "b"}
    assert main(["get", "route", "nope", *at]) == 1
    assert "no route of the topic nope" in capsys.readouterr().err
    assert main(["get", "route", "V", "--as", "10.0.0.9", *at]) == 2
    assert "set rocketns.adminPort" in capsys.readouterr().err


def test_diff_ends_with_0_then_1(servers: tuple[str, str], capsys: Captured, tmp_path: Path) -> None:
    assert printed(capsys, "diff", *servers, "--settle", "0")[0] == 0
    (tmp_path / "empty").mkdir()
    empty = TimedServer(tmp_path / "empty")
    status, shown = printed(capsys, "diff", servers[0], f"127.0.0.1:{empty.port}", "--settle", "0", "--json")
    empty.stop()
    found = {(one["kind"], one["name"]) for one in json.loads(shown)["differences"]}
    assert (status, {("broker", "a"), ("topic", "V")} <= found) == (1, True)


@pytest.mark.parametrize("words", [["get", "topics", "-n", NOBODY], ["diff", NOBODY, "127.0.0.1:2"]])
def test_a_name_server_that_cannot_be_read(words: list[str], capsys: Captured) -> None:
    assert main(words) == 2
    assert f"{NOBODY} cannot be read: connecting to {NOBODY} failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    ["get", "get nothing", "get topics -n x:0", "get topics -n a:1;b:2", "get topics --timeout x",
     "diff a:1", "diff a:1 a:1", "diff a:1,b c:1", "diff a:1 b:1 --settle -1",
     "health -n 127.0.0.1:1"],
)  # fmt: skip
def test_a_wrong_option_ends_with_2(words: str, capsys: Captured) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err


def test_a_server_is_ready_unless_it_waits_or_drains(tmp_path: Path, capsys: Captured) -> None:
    for name, properties in (("serves", {}), ("waits", {"needWaitForService": "true"})):
        (tmp_path / name).mkdir()
        with TimedServer(tmp_path / name, properties) as server:
            words = ("health", "-n", f"127.0.0.1:{server.port}")
            status, shown = printed(capsys, *words)
            assert (status, "it starts, or waits for its brokers" in shown) == ((1, True) if properties else (0, False))
            server.call(lambda server=server: server.controller.facts.drain(begins=True))  # type: ignore[misc]
            assert printed(capsys, *words)[0] == 1


ENVIRONMENT = {"ROCKETNS_ACCESS_KEY": KEY, "ROCKETNS_SECRET_KEY": SECRET}
POLICY = f"""\
secrets = "secrets"

[modes]
lookup = "enforce"
read = "enforce"

[principals.tools]
keys = ["{KEY}"]
may = ["lookup", "read"]
"""


def test_the_environment_gives_the_keys() -> None:
    signer = read_signer(ENVIRONMENT | {"ROCKETNS_SECURITY_TOKEN": "tok-1"})
    assert signer is not None
    assert signer.signed(TOPIC)["SecurityToken"] == "tok-1"
    assert read_signer({}) is None
    for name, value in ENVIRONMENT.items():
        with pytest.raises(RocketnsError, match="ROCKETNS_SECRET_KEY"):
            read_signer({name: value})


def test_signed_requests_are_answered_and_others_are_not(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.toml").write_text(whole(POLICY))
    (tmp_path / "secrets").write_text(f"{KEY} {SECRET}\n")
    (tmp_path / "secrets").chmod(0o600)
    server = TimedServer(tmp_path, {"rocketns.accessFile": tmp_path / "policy.toml"})
    words = ["get", "brokers", "-n", f"127.0.0.1:{server.port}"]
    assert main(words) == 2
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert main(words) == 0
    assert SECRET not in "".join(capsys.readouterr())
    server.stop()


TOKEN, OTHER = "token-of-read-0123456789", "token-of-probe-0123456789"


def for_address(ours: Identity) -> Identity:
    """A certificate that is valid for 127.0.0.1."""
    key = certificates._key(0)
    builder = certificates.builder_of("ns", ours.certificate.subject, key, ca=False)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    return Identity(builder.add_extension(names, critical=False).sign(ours.key, hashes.SHA256()), key)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a file of tokens."""
    (tmp_path / "tokens").write_text(f"read {TOKEN}\nprobe {OTHER}\n")
    return tmp_path


def test_the_management_port_is_asked_with_a_token(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"rocketns.adminPort": free_port(), "rocketns.adminTokensFile": folder / "tokens"}
    server = RocketnsServer(folder / "plain", given)
    words = ["get", "route", "T", "--as", "10.0.0.9", "-n", f"127.0.0.1:{server.port}"]
    with server.connect() as client:
        assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == 0
        peer = f"127.0.0.1:{client.socket.getsockname()[1]}"
        monkeypatch.setenv("ROCKETNS_ADMIN_TOKEN", TOKEN)
        status, shown = printed(capsys, "get", "connections", *words[-2:])
        assert (status, any(line.split()[0] == peer for line in shown.splitlines())) == (0, True)
        monkeypatch.delenv("ROCKETNS_ADMIN_TOKEN")
    for token, says in {
        None: "asks for a token that it knows: give one by ROCKETNS_ADMIN_TOKEN", TOKEN: "has no route of the topic T",
        OTHER: "needs a token of the class read", f"{TOKEN} {OTHER}": "must have one token and nothing else",
    }.items():  # fmt: skip
        if token is not None:
            monkeypatch.setenv("ROCKETNS_ADMIN_TOKEN", token)
        assert main(words) == (1 if token == TOKEN else 2)
        said = "".join(capsys.readouterr())
        assert says in said
        assert TOKEN not in said
        assert OTHER not in said
    (folder / "ca.pem").write_bytes(authority("ours").certificate_pem())
    monkeypatch.setenv("ROCKETNS_ADMIN_TOKEN", TOKEN)
    assert main([*words, f"-Dtls.client.trustCertPath={folder / 'ca.pem'}"]) == 2
    assert "takes no TLS, so the token is not sent" in capsys.readouterr().err
    server.kill()


def test_the_servers_certificate_is_verified_before_a_token_is_sent(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = authority("ours")
    (folder / "ca.pem").write_bytes(ours.certificate_pem())
    files = Files.write(folder / "tls", for_address(ours))
    given = {"rocketns.adminPort": free_port(), "rocketns.adminTls": "true",
             "rocketns.adminTokensFile": folder / "tokens"}  # fmt: skip
    server = RocketnsServer(folder / "secured", given, options=as_options(tls_properties(files)))
    words = ["get", "route", "T", "--as", "10.0.0.9", "-n", f"127.0.0.1:{server.port}"]
    monkeypatch.setenv("ROCKETNS_ADMIN_TOKEN", TOKEN)
    try:
        assert main([*words, f"-Dtls.client.trustCertPath={folder / 'ca.pem'}"]) == 1
        assert main(words) == 2
        assert "certificate verify failed" in capsys.readouterr().err
    finally:
        server.kill()


def write_as_a_build(kind: str, folder: Path) -> None:
    """A build has what `build-system.requires` names, and not what the programs need when they run."""
    missing = ["aiohttp", "construct", "cryptography", "isal", "javaproperties", "jinja2", "orjson",
               "prometheus_client", "pyarrow", "pyspark", "tomli_w", "yaml"]  # fmt: skip
    path = ROOT / "packaging" / "programs.py"
    code = f"import runpy, sys; sys.modules.update(dict.fromkeys({missing})); sys.path.insert(0, {str(path.parent)!r})"
    code += f"; sys.argv = ['', {str(folder)!r}, {kind!r}]; runpy.run_path({str(path)!r}, run_name='__main__')"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("words", "expected"), [(["di"], {"diff"}), (["get", "route", "--js"], {"--json"}), (["access", "su"], {"suggest"})]
)
def test_bash_completes(words: list[str], expected: set[str], tmp_path: Path) -> None:
    write_as_a_build("completions", tmp_path)
    asked = " ".join(["rocketns", *words])
    commands = f"""{(tmp_path / "rocketns.bash").read_text("utf-8")}
COMP_WORDS=({asked}); COMP_CWORD={len(words)}; COMP_LINE="{asked}"; COMP_POINT=${{#COMP_LINE}}
_shtab_rocketns rocketns "{words[-1]}"; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    bash = subprocess.run(["bash", "--norc"], input=commands, capture_output=True, text=True, check=True)
    assert set(bash.stdout.split()) == expected, bash.stderr


def test_the_manual_has_a_page_for_each_program_with_every_option(tmp_path: Path, capsys: Captured) -> None:
    write_as_a_build("manual", tmp_path)
    for word in (*TOOLS, "audit", "collect", "doctor"):
        page = (tmp_path / f"rocketns-{word}.1").read_text("utf-8").replace("\\-", "-")
        assert main([word, "--help"]) == 0
        options = set(re.findall(r"^ +(?:-\w.*, )?(--[\w-]+)", capsys.readouterr().out, re.M)) - {"--help"}
        assert {option for option in options if option not in page} == set()
