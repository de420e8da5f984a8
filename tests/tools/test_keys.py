"""Where the keys of signed requests come from, and what an error does not show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.servers import RocketnsServer
from rocketns.__main__ import main
from rocketns.tools.keys import KeysError, read_signer
from tests.access.vectors import KEY, OF_V1, SECRET, TOPIC

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


def tools_yml(folder: Path, text: str = f"accessKey: {KEY}\nsecretKey: {SECRET}\n") -> str:
    path = folder / "tools.yml"
    path.write_text(text)
    return str(path)


def test_the_file_of_mqadmin_gives_the_keys(tmp_path: Path) -> None:
    """The secret is a number in YAML."""
    signer = read_signer(tools_yml(tmp_path), {})
    assert signer is not None
    assert signer.signed(TOPIC)["Signature"] == OF_V1


def test_the_environment_gives_the_keys() -> None:
    signer = read_signer(None, ENVIRONMENT | {"ROCKETNS_SECURITY_TOKEN": "tok-1"})
    assert signer is not None
    assert signer.signed(TOPIC)["SecurityToken"] == "tok-1"


def test_nothing_is_signed_without_keys() -> None:
    assert read_signer(None, {}) is None


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_one_key_alone_is_an_error(name: str) -> None:
    with pytest.raises(KeysError, match="ROCKETNS_SECRET_KEY"):
        read_signer(None, {name: ENVIRONMENT[name]})


@pytest.mark.parametrize(
    "text",
    ["", "- a", "accessKey: a", f"accessKey: a\nsecretKey: *{SECRET}", f"secretKey: !{SECRET} x\n\tx",
     "accessKey: a\nsecretKey: ''", "a: " * 9, "[" * 10_000, f"accessKey: a\nsecretKey: [{SECRET}]", "accessKey: \xff",
     "x" * 70_000],
)  # fmt: skip
def test_a_file_without_keys_is_named_and_not_shown(tmp_path: Path, text: str) -> None:
    path = tools_yml(tmp_path)
    Path(path).write_bytes(text.encode("latin-1"))
    with pytest.raises(KeysError) as raised:
        read_signer(path, ENVIRONMENT)
    assert path in str(raised.value)
    assert SECRET not in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "topics", "--tools-yml", str(tmp_path / "none.yml")]) == 2
    assert "none.yml cannot be read" in capsys.readouterr().err


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    """A name server that answers signed requests only."""
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "secrets").write_text(f"{KEY} {SECRET}\n")
    (tmp_path / "secrets").chmod(0o600)
    server = RocketnsServer(tmp_path / "server", {"rocketns.accessFile": tmp_path / "policy.toml"})
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        server.kill()


def test_signed_requests_are_answered_and_others_are_not(
    guarded: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["get", "brokers", "-n", guarded]
    assert main(words) == 2
    assert main([*words, "--tools-yml", tools_yml(tmp_path)]) == 0
    assert SECRET not in "".join(capsys.readouterr())
