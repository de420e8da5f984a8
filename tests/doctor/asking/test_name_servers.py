"""How it is told why a name server gives no answer, and what one is."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from rocketns.client.name_server import UnusableError
from rocketns.doctor.asking.name_servers import outcome_of
from rocketns.doctor.facts.name_servers import Kind, NameServerFacts
from rocketns.doctor.facts.reach import Outcome
from tests.client.peers import CLOSED as REFUSING
from tests.client.peers import Serve
from tests.doctor.standin import StandIn, gathered, well


def only(*serves: Serve, addrs: tuple[str, ...] = (), **options: Any) -> NameServerFacts:
    (facts,) = gathered(*serves, addrs=addrs, **options).name_servers
    return facts


async def closing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    while await reader.read(1 << 16):
        pass


async def speaking_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def test_a_port_where_nobody_listens_refuses() -> None:
    assert only(addrs=(REFUSING,)).outcome is Outcome.REFUSED


def test_a_host_with_two_addresses_that_both_refuse_refuses() -> None:
    assert only(addrs=(f"localhost:{free_port()}",)).outcome is Outcome.REFUSED


def test_a_host_name_without_an_address_is_named_so() -> None:
    facts = only(addrs=("no-such-host.invalid:9876",))
    assert (facts.outcome, facts.ips) == (Outcome.UNRESOLVED, ())


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [
        (OSError(errno.EHOSTUNREACH, "No route to host"), Outcome.UNREACHABLE),
        (OSError("Multiple exceptions: [Errno 101] Network is unreachable, [Errno 111] Refused"), Outcome.UNREACHABLE),
        (OSError(errno.ETIMEDOUT, "Connection timed out"), Outcome.TIMED_OUT),
        (TimeoutError(), Outcome.TIMED_OUT),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), Outcome.CLOSED),
    ],
    ids=str,
)
def test_what_the_system_says_of_a_connection_is_told_apart(cause: OSError, outcome: Outcome) -> None:
    error = UnusableError("connecting to 10.0.0.1:9876 failed")
    error.__cause__ = cause
    assert outcome_of(error) is outcome


def test_a_peer_that_closes_the_connection_is_named_so() -> None:
    assert only(closing).outcome is Outcome.CLOSED


def test_a_peer_that_says_nothing_is_silent() -> None:
    assert only(silent, timeout_s=0.1).outcome is Outcome.SILENT


def test_a_web_server_speaks_another_protocol() -> None:
    assert only(speaking_http).outcome is Outcome.OTHER_PROTOCOL


def test_a_broker_is_no_name_server() -> None:
    """A broker answers request 106 with code 3, and is asked nothing else."""
    broker = StandIn(wrong={codes.GET_BROKER_CLUSTER_INFO: 3})
    facts = only(broker.serve)
    assert (facts.outcome, facts.kind, broker.asked) == (Outcome.ANSWERED, Kind.OTHER, [106])


@pytest.mark.parametrize(("is_rocketns", "kind"), [(False, Kind.JAVA), (True, Kind.ROCKETNS)])
def test_the_kind_is_told_by_a_request_that_only_rocketns_knows(is_rocketns: bool, kind: Kind) -> None:
    one = well()
    one.is_rocketns = is_rocketns
    assert only(one.serve).kind is kind


def test_tables_are_read() -> None:
    facts = only(well().serve, topics=("Orders", "Nothing"))
    assert facts.groups is not None
    assert set(facts.groups) == {"broker-a", "broker-b"}
    assert facts.clusters == {"c": {"broker-a", "broker-b"}}
    assert (facts.has("Orders"), facts.lacks("Nothing"), facts.version) == (True, True, 513)
    assert facts.topics == {"Orders", "SELF_TEST_TOPIC", "TBW102"}


def test_a_name_server_that_lists_no_topics_still_has_routes() -> None:
    one = well()
    one.wrong = {codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 1}
    facts = only(one.serve, topics=("Orders",))
    assert (facts.topics, facts.has("Orders"), facts.codes) == (None, True, {206: 1})
