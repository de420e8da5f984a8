"""Random scenarios: a seed gives the steps, each independent, so that any part of them can be played alone.

Several clusters, groups, ids, addresses and topics, of which Java leaves nothing open: `tests.support.histories` draws
them. Left out is what docs/differences.md lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from interop.parity.language import (
    EVERY_FORM,
    ONE_FORM,
    Ask,
    Compare,
    Deflated,
    Expired,
    Form,
    HangUp,
    Request,
    Scenario,
    Settle,
    Step,
)
from interop.parity.requests import CRC, address, own
from tests.support import histories
from tests.support.histories import REGISTER, REQUESTS, UNREGISTER, VALUES, Peers, close, odd, overdue, steps_of

STEPS = 200
# Sequences of requests that no real peer writes.
ODD = "odd-"
SEEDS = (*map(str, range(9)), *(f"{ODD}{number}" for number in range(3)))
# How often everything is compared between.
COMPARE_EVERY = 50

# Java keeps entries of a group in two clusters. No address is in two groups.
GROUPS = {"a": "C", "b": "C", "c": "D", "d": "E"}
HOMES = {address(2 * number + host): (own(cluster), own(name), None)
         for number, (name, cluster) in enumerate(GROUPS.items()) for host in (0, 1)}  # fmt: skip
# Of an address that lost its id Java keeps the filter servers, so each registration names its own. Versions before 37
# cannot.
REAL = Peers(
    homes=HOMES, clusters=[own(name) for name in "CDE"], names=[own(name) for name in GROUPS],
    topics=[own(name) for name in (*"TUVWXYZ", "rmq_sys_SYNC_BROKER_MEMBER_a")],
    namespaces=[own(name) for name in "no"], oldest=37, careful=True,
    forms=[(form.binary, form.version) for form in EVERY_FORM],
    switches=("supportActingMaster", "deleteTopicWithBrokerRegistration", "orderMessageEnable"),
)  # fmt: skip
KINDS = {**REQUESTS, close: 6, overdue: 2}
ODD_VERSIONS = (0, 36, 37, 400, 401, 412, 413, 475, 513, 600)
ODD_PEERS = replace(
    REAL, homes=dict(list(HOMES.items())[:4]), topics=[own(name) for name in "TUV"], ids=("0", "1", "2", *VALUES),
    forms=[(binary, version) for binary in (True, False) for version in ODD_VERSIONS],
)  # fmt: skip


def scenario(seed: str, numbers: Sequence[int] = range(STEPS)) -> Scenario:
    """The steps with these numbers of a seed's sequence."""
    return Scenario(f"seed-{seed}", "", tuple(_steps(seed, numbers)), forms=ONE_FORM)


def _steps(seed: str, numbers: Sequence[int]) -> Iterator[Step]:
    for count, number in enumerate(numbers, 1):
        if seed.startswith(ODD):
            yield from _played(steps_of(seed, number, ODD_PEERS, {odd: 1}), is_odd=True)
        else:
            yield from _played(steps_of(seed, number, REAL, KINDS), is_odd=False)
        if count % COMPARE_EVERY == 0:
            yield Compare()


def _played(steps: histories.Steps, *, is_odd: bool) -> Iterator[Step]:
    """In the language of scenarios. Java unregisters after its answer."""
    for step in steps:
        on = f"c{step.connection}" if isinstance(step, histories.Ask | histories.Close) else ""
        if isinstance(step, histories.Ask):
            last, ext = step, step.ext
            if step.code == REGISTER and not is_odd:
                ext = {**(ext or {}), "bodyCrc32": CRC}
            body, form = Deflated(step.body) if step.deflated else step.body, Form(step.binary, step.version)
            yield Ask(Request(step.code, ext, body, form=form), on="main" if is_odd else on)
        elif isinstance(step, histories.Pass):  # what was registered is overdue
            on = f"c{last.connection}"
            yield Expired((last.ext or {})["brokerAddr"], on=on)
        if isinstance(step, histories.Close | histories.Pass):
            yield HangUp(on=on)
        if not isinstance(step, histories.Ask) or step.code == UNREGISTER:
            yield Settle()
