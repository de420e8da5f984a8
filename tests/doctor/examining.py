"""Runs the whole doctor in a test, against stand-ins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rocketns.client.signer import Signer
from rocketns.doctor.asking.gathering import gather
from rocketns.doctor.asking.watching import Watch
from rocketns.doctor.facts.options import Options
from rocketns.doctor.finding import Finding, State
from rocketns.doctor.progress import Progress
from rocketns.doctor.running import Report, run
from tests.doctor.counting import FakeNameServer
from tests.server.tls_configs import config

TIMEOUT_S = 20.0


async def examine(
    *name_servers: FakeNameServer | str, tls: bool = False, signer: Signer | None = None, **options: Any
) -> Report:
    """The report. ``options`` are those of the doctor."""
    addrs = tuple(one if isinstance(one, str) else one.addr for one in name_servers)
    settings = {"timeout_s": TIMEOUT_S} | options
    asked = Options(addrs, tls=tls, **settings)
    return run(await gather(asked, replace(config(), enable=tls), signer, Progress(None), Watch()))


def ill(report: Report, check: str | None = None) -> list[Finding]:
    """What is wrong, in the order shown."""
    return [one for one in report.of(State.ILL) if check in (None, one.check)]


def names(findings: Iterable[Finding]) -> list[str]:
    return [one.check for one in findings]
