"""REGISTER_BROKER: accepted and refused registrations, and the header fields that matter."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable

from interop.harness.payloads import data_version, register_body
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import TWO_TOPICS, configs, register, register_with, registered
from tests.behaviour.views import addrs, group, members, route


def test_single_topic_of_an_unknown_broker_is_refused(
    server_class: type[NameServer], client: Client, names: Names
) -> None:
    """B110: exactly one topic, id not registered; nothing is visible. Java keeps a group without address."""
    answer = register(client, names, ["T"])
    assert (answer.code, answer.remark, answer.ext) == (1, "register broker failed", {})
    is_java = server_class.kind == "java"
    assert addrs(client, names.broker) == ({} if is_java else None)
    assert members(client, names.cluster) == ([names.broker] if is_java else None)
    assert route(client, names.topic("T")) is None


def test_single_topic_of_an_unknown_id_of_a_known_group_is_refused(client: Client, names: Names) -> None:
    """B110: the id must be registered, not only the group."""
    registered(client, names)
    answer = register(client, names, ["T"], host=2, broker_id=1)
    assert (answer.code, answer.remark, answer.ext) == (1, "register broker failed", {})
    assert addrs(client, names.broker) == {"0": names.addr()}


def body_whose_crc_has_the_sign_bit(names: Names) -> bytes:
    """A body whose CRC has the highest bit set. Java keeps 31 bits; other bodies do not show a difference."""
    bodies = (register_body(configs(names, TWO_TOPICS), data_version(counter)) for counter in itertools.count())
    return next(body for body in bodies if zlib.crc32(body) >> 31)


def test_crc_has_31_bits(client: Client, names: Names) -> None:
    """B120: the comparison is with CRC32 & 0x7fffffff."""
    body = body_whose_crc_has_the_sign_bit(names)
    assert register_with(client, names, body, bodyCrc32=zlib.crc32(body) & 0x7FFFFFFF).code == 0


def test_heartbeat_timeout_that_says_nothing_is_long(start_server: Callable[..., NameServer]) -> None:
    """B166: heartbeatTimeoutMillis absent or bad. A scan that expires a short one leaves them alone.

    tests/timed checks the default of 120000 to the millisecond with a fake clock. This checks it on the wire.
    """
    server = start_server({"scanNotActiveBrokerInterval": 200})
    timeouts = {"1": Names(), None: Names(), "abc": Names(), "": Names()}
    with server.connect() as asking, server.connect() as short, server.connect() as client:
        for timeout, names in timeouts.items():
            registered(short if timeout == "1" else client, names, heartbeatTimeoutMillis=timeout)
        eventually(lambda: group(asking, timeouts["1"].broker) is None)
        assert short.is_closed_by_server()
        assert [group(asking, names.broker) is None for names in timeouts.values()] == [True, False, False, False]
