"""Whether a name server is ready is asked by a request whose answer no peer can change."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer as Process
from rocketns.addressserver import probing
from rocketns.addressserver.listing import Listing
from rocketns.addressserver.probing import Probing
from rocketns.addressserver.server import ANSWER_BYTES_MAX
from rocketns.client import name_server
from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import RemotingClient
from rocketns.config.tls import TlsConfig
from rocketns.journal.lookups import TOPIC_CHARS_MAX
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_request

# The peer that asks decides which topic it is.

LONG = "x" * 3_900
# Together more than 4 MiB of the route of each topic.
BROKERS = 450
# Names that were asked for once.
TOPICS = [topic_config(name) for name in ("SELF_TEST_TOPIC", "rocketns-health", "rocketns-readiness")]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the machine decides who is listed: a busy one may need more than the 2 s."""
    monkeypatch.setattr(probing, "ANSWER_WITHIN_S", 60.0)


def enlarge_routes(server: Process) -> None:
    """A stranger registers brokers with long names that have the topics."""
    with server.connect() as stranger:
        for number in range(BROKERS):
            ext = register_ext("c", f"{number}{LONG}", f"10.0.0.1:1{LONG}{number}")
            stranger.request(codes.REGISTER_BROKER, ext, register_body(TOPICS))


async def probed(addr: str) -> tuple[bool, str | None]:
    """Whether the address server would list it now, and why `rocketns health` says that it is not ready."""
    client, listing = RemotingClient(lambda: TlsConfig.read({}, {}), answer_bytes_max=ANSWER_BYTES_MAX), Listing(0.0)
    asking = Probing(client, listing, SerializeType.JSON)
    asking.set_addresses({addr: addr})
    await asking.ask_all()
    listed = listing.listed(asyncio.get_running_loop().time()).addresses
    why = await NameServer(client, addr, SerializeType.JSON, within_s=60.0).why_not_ready()
    client.close()
    return listed == (addr,), why


def test_large_routes_keep_no_name_server_from_the_list(server: Process) -> None:
    enlarge_routes(server)
    assert asyncio.run(probed(f"127.0.0.1:{server.port}")) == (True, None)


def test_each_lookup_is_for_another_topic(monkeypatch: pytest.MonkeyPatch, server: Process) -> None:
    """So who sees one cannot register it in time. None is long enough for the journal to keep its name."""
    asked: list[str] = []

    def recorded(code: int, fields: dict[str, Any], serialize_type: SerializeType) -> tuple[int, bytes]:
        asked.append(fields["topic"])
        return encode_request(code, fields, serialize_type)

    monkeypatch.setattr(name_server, "encode_request", recorded)
    for _ in range(2):
        assert asyncio.run(probed(f"127.0.0.1:{server.port}")) == (True, None)
    assert len({*asked}) == 4
    assert all(len(topic) > TOPIC_CHARS_MAX for topic in asked)
