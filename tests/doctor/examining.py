"""The doctor's report of name servers whose answers a test decides, all in one event loop; no broker is asked."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from rocketns.client.tls import client_context
from rocketns.doctor.asking import gathering
from rocketns.doctor.facts import BrokerFacts, DoctorOptions, FleetFacts
from rocketns.doctor.finding import Diagnosis, Health
from rocketns.doctor.report import Report, run
from tests.client.peers import Serve, peer
from tests.doctor.counting import FakeNameServer
from tests.server.tls_configs import config

WITHIN_S = 60.0


async def gathered(
    *serves: Serve, every_s: float = 0.0, addrs: tuple[str, ...] = (), told: tuple[BrokerFacts, ...] = (),
    **options: Any,
) -> FleetFacts:  # fmt: skip
    """What is gathered from name servers with these ways to serve, and at ``addrs``. No broker is asked.

    ``told`` is what brokers would have said.
    """

    async def nobody(facts: FleetFacts, *_more: object) -> FleetFacts:
        return replace(facts, brokers=told)

    async with AsyncExitStack() as stack:
        stack.enter_context(patch.object(gathering, "ask_brokers", nobody))
        peers = [await stack.enter_async_context(peer(serve)) for serve in serves]
        given = DoctorOptions((*(one.addr for one in peers), *addrs), **({"timeout_s": WITHIN_S} | options))
        context = client_context(config()) if given.tls else None
        async with asyncio.timeout(2 * WITHIN_S):
            return await gathering.gather(given, context, None, print, every_s)


async def examined(*name_servers: FakeNameServer, **options: Any) -> Report:
    """The report of these name servers."""
    return run(await gathered(*(one.serve for one in name_servers), **options))


def ill(report: Report) -> list[str]:
    """The names of the checks that found something, in order."""
    return [one.check for one in report.of(Health.ILL)]


def found(report: Report, check: str) -> Diagnosis:
    """The first finding of a check."""
    return next(one for one in report.findings if one.check == check)


ONE, TWO = "10.0.0.1:10911", "10.0.0.2:10911"
SYSTEM = {"SELF_TEST_TOPIC": {"broker-a": {}, "broker-b": {}}}
CREATION = {"TBW102": {"broker-a": {}, "broker-b": {}}}


def well(**topics: dict[str, dict[str, int]]) -> FakeNameServer:
    """Two brokers that create topics by themselves, and the topic Orders on both."""
    both: dict[str, dict[str, int]] = {"broker-a": {}, "broker-b": {}}
    return FakeNameServer(
        {"broker-a": {0: ONE}, "broker-b": {0: TWO}}, {"Orders": both, **SYSTEM, **CREATION, **topics}
    )
