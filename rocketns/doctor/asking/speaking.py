"""What a server speaks: RocketMQ's protocol, with TLS or without, or something else."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace

from rocketns.addresses import with_port
from rocketns.client.own import is_own
from rocketns.client.signer import Fields
from rocketns.doctor.asking.addresses import Target, UnreachedError, place_of, resolve
from rocketns.doctor.asking.call import Call, HandshakeError, Line, Timed, open_call
from rocketns.doctor.asking.requests import Budget
from rocketns.doctor.facts.reach import AddressFacts, Outcome

CONNECTS_MAX = 2  # to one address: the second one finds out whether it speaks TLS where the first one did not, or does


@dataclass(frozen=True, slots=True)
class Question:
    """A request that reads only. ``code``, ``fields``, and how many bytes of an answer are read."""

    code: int
    fields: Fields
    bytes_max: int


@dataclass(frozen=True, slots=True)
class Reached:
    """``call`` and ``first``, the answer to the first question, are None where the address does not answer."""

    facts: AddressFacts
    call: Call | None = None
    first: Timed | None = None


async def reach(addr: str, question: Question, line: Line, budget: Budget) -> Reached:
    """Connect and ask. Where the peer ends the connection at once, connect again the other way: TLS or plain.

    The budget needs a row for the question and CONNECTS_MAX for ``connect``; the question is asked once more at most.
    """
    facts = AddressFacts(addr)
    try:
        target = await resolve(addr, line.within_s)
        is_here = await is_own(with_port(target.ips[0], target.port), target.port)
        facts = replace(facts, ips=target.ips, place=place_of(target.ips[0]), is_here=is_here)
        call, first = await _opened(target, question, line, budget)
    except HandshakeError as error:
        return Reached(replace(facts, outcome=error.outcome, error=str(error)))
    except UnreachedError as error:
        outcome = error.outcome
        if outcome is Outcome.CLOSED:
            outcome = await _other_way(target, question, line, budget) or outcome
        return Reached(replace(facts, outcome=outcome, error=str(error)))
    return Reached(replace(facts, outcome=Outcome.ANSWERED, ms=call.ms), call, first)


async def _opened(target: Target, question: Question, line: Line, budget: Budget) -> tuple[Call, Timed]:
    call = await open_call(target, line, budget)
    try:
        return call, await call.ask(question.code, question.fields, question.bytes_max)
    except BaseException:
        call.close()
        raise


async def _other_way(target: Target, question: Question, line: Line, budget: Budget) -> Outcome | None:
    """SPEAKS_TLS or SPEAKS_PLAIN if the peer speaks that, and not what it was asked in. None: neither."""
    try:
        if line.context is None:
            (await open_call(target, replace(line, context=_any_tls()), budget)).close()
            return Outcome.SPEAKS_TLS
        call, _ = await _opened(target, question, replace(line, context=None), budget)
    except HandshakeError:
        return Outcome.SPEAKS_TLS
    except UnreachedError:
        return None
    call.close()
    return Outcome.SPEAKS_PLAIN


def _any_tls() -> ssl.SSLContext:
    """It trusts anybody: no request is sent over it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
