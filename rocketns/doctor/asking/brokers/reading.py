"""What is asked of brokers, once the name servers were read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rocketns.client.signer import Signer
from rocketns.client.tls import client_context
from rocketns.config.tls import TlsConfig
from rocketns.doctor.asking.brokers.choosing import Candidate, choose
from rocketns.doctor.asking.brokers.one import Wanted, ask_broker
from rocketns.doctor.asking.brokers.requests import AT_ONCE, broker_budget
from rocketns.doctor.asking.call import Line
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Requests
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import AddressFacts
from rocketns.doctor.progress import Progress
from rocketns.doctor.words import _
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.names import utf8_bytes

# Of one topic as JSON, with its key, without its name, which is there twice:
# "":{"attributes":{},"order":false,"perm":6,"readQueueNums":1024,"topicFilterType":"SINGLE_TAG","topicName":"", …},
ENTRY_BYTES = 160
LARGE_BYTES = FRAME_SIZE_MAX_BYTES // 2


@dataclass(frozen=True, slots=True)
class Found:
    """The fields of `Facts` that brokers give."""

    addresses: Mapping[str, AddressFacts] = field(default_factory=dict)
    brokers: tuple[BrokerFacts, ...] = ()
    left_out: int = 0
    requests: tuple[Requests, ...] = ()


async def ask_brokers(
    options: Options, name_servers: Sequence[NameServerFacts], tls: TlsConfig, signer: Signer | None,
    progress: Progress,
) -> Found:  # fmt: skip
    """AT_ONCE brokers at a time. OSError, ValueError or TlsError where the files for TLS cannot be used."""
    choice, budget = choose(options, name_servers), broker_budget(options)
    wanted = _wanted(options, name_servers)
    line = Line(client_context(tls) if tls.enable else None, signer, options.timeout_s)
    room = asyncio.Semaphore(AT_ONCE)

    async def ask(candidate: Candidate) -> tuple[AddressFacts, BrokerFacts | None]:
        async with room:
            return await ask_broker(candidate, wanted, line, budget)

    progress.stage(_("asking brokers"), len(choice.chosen))
    found = await asyncio.gather(*(progress.counted(ask(one)) for one in choice.chosen))
    return Found(
        {address.addr: address for address, _ in found}, tuple(broker for _, broker in found if broker is not None),
        choice.left_out, (budget.requests("brokers"),),
    )  # fmt: skip


def _wanted(options: Options, name_servers: Sequence[NameServerFacts]) -> Wanted:
    lacking = {topic for topic in options.topics if any(one.lacks(topic) for one in name_servers)}
    return Wanted(options, frozenset(lacking), many=any(may_be_large(one.topics or ()) for one in name_servers))


def may_be_large(topics: Iterable[str]) -> bool:
    """Whether a broker that had all of these topics would send half as much as a frame may have, or more."""
    size = 0
    for topic in topics:
        size += ENTRY_BYTES + 2 * utf8_bytes(topic)
        if size >= LARGE_BYTES:
            return True
    return False
