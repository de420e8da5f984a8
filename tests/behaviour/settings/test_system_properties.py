"""The sources of Java's system properties, and settings that prevent a start. The rows do not cover them:
the JVM and RocketMQ's launcher script do it for Java, and the harness starts the JVM without the script.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from tests.support.certificates import Files, authority
from tests.support.tlsclient import TlsClient, is_served
from tests.support.tlsfiles import served_certificate, tls_properties

Start = Callable[..., NameServer]
MODE = "-Dtls.server.mode="


@pytest.fixture(autouse=True)
def _only_rocketns(server_class: type[NameServer]) -> None:
    if server_class.kind == "java":
        pytest.skip("RocketMQ's launcher script, which the harness does not use, reads these variables for Java")


def tls_mode(server: NameServer) -> str:
    """The TLS mode that the server shows."""
    plain, tls = is_served(server.connect), is_served(lambda: TlsClient(server.port))
    return {(True, False): "disabled", (True, True): "permissive", (False, True): "enforcing"}[plain, tls]


@pytest.mark.parametrize(
    ("env", "options", "properties", "expected"),
    [
        ({"JAVA_OPT": f"-server -Xmx4g {MODE}disabled -Dx", "JAVA_OPT_EXT": f"{MODE}enforcing"}, [], {}, "enforcing"),
        ({"JAVA_OPT_EXT": f"{MODE}disabled"}, [f"{MODE}enforcing"], {}, "enforcing"),
        ({"JAVA_OPT": f"{MODE}disabled"}, [], {"tls.server.mode": "enforcing"}, "disabled"),
    ],
    ids=["JAVA_OPT_EXT is later", "the command line wins", "the file is asked last"],
)
def test_sources(
    start_server: Start, env: dict[str, str], options: list[str], properties: dict[str, object], expected: str
) -> None:
    """B066: a JVM property may be given in each of these ways."""
    assert tls_mode(start_server(properties, env=env, options=options)) == expected


def test_words_are_taken_as_the_shell_leaves_them(start_server: Start, tmp_path: Path) -> None:
    """B069: the launcher's variables are split at blanks. Quotes and backslashes stay, for instance in a password."""
    identity = authority("tests").issue("one")
    password = "it's\"\\"
    given = tls_properties(Files.write(tmp_path, identity, password=password), keyPassword=password)
    server = start_server(env={"JAVA_OPT": "\n".join(f"-D{name}={value}" for name, value in given.items())})
    assert served_certificate(server) == identity.der


def test_all_of_tls_in_the_configuration_file(start_server: Start, tmp_path: Path) -> None:
    """B069: rocketns reads tls.… properties from this file too, so one file is enough."""
    identity = authority("tests").issue("one")
    server = start_server(tls_properties(Files.write(tmp_path, identity)) | {"tls.server.mode": "enforcing"})
    assert served_certificate(server) == identity.der
    assert tls_mode(server) == "enforcing"


def test_a_controller_is_refused(start_server: Start) -> None:
    """B249: rocketns contains no controller. The message names the program to run."""
    with pytest.raises(ProcessFailed) as failed:
        start_server({"enableControllerInNamesrv": "true"})
    assert failed.value.status == 255
    (line,) = [line for line in str(failed.value).splitlines() if "cannot start" in line]
    assert "enableControllerInNamesrv" in line
    assert "bin/mqcontroller -c" in line
    assert "controllerAddr" in line
