"""Request 318 and the next start: whatever a stranger sets, the server starts again from its file and serves."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from rocketns.config import Limits, NamesrvConfig, NettyServerConfig, properties
from rocketns.config.checks import BLACK_LIST
from rocketns.config.properties import PREFIX
from tests.behaviour.calls import settings, switch, update_settings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route
from tests.hostile.conftest import StartServer

EVERY = properties.declared(NamesrvConfig) | properties.declared(NettyServerConfig)
NAMES = [name for name in EVERY if name not in BLACK_LIST]

NASTY = (
    "", "0", "-1", "true", "70000", "a\\\\", "9223372036854775807", "no.such.host", "x" * 1_000,
    "\\u2028tls.server.mode\\=enforcing", "\\ud800", "é日😀",
)  # fmt: skip

AT_ONCE = 6  # values for one server, each set after a restart with the value before


def assert_serves(server: NameServer) -> None:
    """Brokers, clients and tools are answered. Clients are after needWaitForService, which may be on."""
    names = Names()
    with server.connect() as client:
        registered(client, names, names.topic())
        switch(client, "needWaitForService", "false")
        assert ask_route(client, names.topic()).code == codes.SUCCESS
        assert "listenPort" in settings(client)


@pytest.mark.parametrize("first", range(0, len(NASTY), AT_ONCE))
def test_no_value_of_any_property_keeps_the_next_start_from_serving(start_server: StartServer, first: int) -> None:
    """All properties that the request may name are set at once, to one value after another. The answer is Java's
    success."""
    server = start_server({"own": "1"})
    for value in NASTY[first : first + AT_ONCE]:
        print(f"the value {value!a}")
        with server.connect() as client:
            text = "".join(f"{name}={value}\n" for name in (*NAMES, "own"))
            assert update_settings(client, text).code == codes.SUCCESS
        server.kill()  # one of the values may make the stop graceful and slow
        server.start()
        assert_serves(server)


@pytest.mark.parametrize("name", ["own", "productEnvName"])
def test_a_value_with_a_line_break_is_refused_and_adds_no_property(start_server: StartServer, name: str) -> None:
    """Nothing of the request is applied or written; the remark names the property."""
    server = start_server({"own": "1"})
    file_before = server.config_path.read_bytes()
    added = "\\nconfigBlackList=\\ntls.server.mode=enforcing\\nrocketns.connectionsMax=0\\njournalNs=x"
    with server.connect() as client:
        before = settings(client)
        answer = update_settings(client, f"waitSecondsForService=7\n{name}=x{added}\n")
        assert answer.code == codes.SYSTEM_ERROR
        assert answer.remark == f"Can not update config, the value of {name} has a control character."
        assert settings(client) == before
    assert server.config_path.read_bytes() == file_before


@pytest.mark.parametrize("given", [False, True], ids=["absent", "in-the-file"])
def test_own_properties_are_for_the_operator(start_server: StartServer, given: bool, tmp_path: str) -> None:
    """Limits, TLS and the journal are refused like Java's black list, whether the file has them or not."""
    values = {"rocketns.connectionsMax": 100, "tls.server.mode": "permissive", "journalRetentionDays": 3,
              "journalPath": f"{tmp_path}/journal"}  # fmt: skip
    server = start_server(dict(values) if given else {})
    with server.connect() as client:
        for name, value in values.items():
            answer = update_settings(client, f"{name}=0\n")
            assert (answer.code, answer.remark) == (codes.NO_PERMISSION, "Can not update config in black list.")
            assert settings(client).get(name) == (str(value) if given else None)


def test_a_text_that_takes_long_to_read_is_refused(start_server: StartServer) -> None:
    """One value over many lines: the parser's time grows with their square."""
    server = start_server()
    with server.connect() as client:
        answer = update_settings(client, "productEnvName=" + "x\\\n" * 100_000)
        assert (answer.code, answer.remark) == (
            codes.SYSTEM_ERROR, "Can not update config, the text has more than 65536 bytes.",
        )  # fmt: skip


@pytest.mark.parametrize("edge", ["low", "high"])
def test_every_limit_serves_at_the_ends_of_its_range(start_server: StartServer, edge: str) -> None:
    """The server serves requests with all limits at their minimum, and with all at their maximum."""
    bounds = {name: one.metadata["bounds"] for name, one in properties.declared(Limits).items() if name != "reactors"}
    server = start_server({PREFIX + name: low if edge == "low" else high for name, (low, high) in bounds.items()})
    with server.connect() as client:
        assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS
