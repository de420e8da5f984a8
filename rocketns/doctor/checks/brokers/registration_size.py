"""How near the registration of a broker is to the size that a name server reads. Beyond it, nothing is logged that says
so: the name server closes the connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocketns.doctor.checks.showing import mqadmin
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES

NAME = "registration-size"
NEAR = 0.8  # of the size that is read
_NOT_WHOLE = ("compressedRegister", "enableSplitRegistration")


def registration_size(facts: Facts) -> Iterator[Finding]:
    """A finding for each broker that is near the limit, or beyond it, or at no name server for a reason that this may
    be."""
    for broker in facts.brokers:
        size = broker.topics_bytes or 0
        if broker.topics_bytes is None and not broker.is_announced and not _is_smaller(broker):
            yield _not_measured(broker)
        elif size >= NEAR * FRAME_SIZE_MAX_BYTES and not _is_smaller(broker):
            yield _finding(facts, broker, size)


def _not_measured(broker: BrokerFacts) -> Finding:
    sentence = _("Whether the registration of %(broker)s is too large cannot be told: it does not say how many topics "
                 "it has (request 21).") % {"broker": f"{broker.name} ({broker.addr})"}  # fmt: skip
    return Finding(NAME, State.UNKNOWN, sentence)


def is_too_large(broker: BrokerFacts) -> bool:
    """Whether a name server of Java's, or of rocketns, does not read its registration."""
    return (broker.topics_bytes or 0) > FRAME_SIZE_MAX_BYTES and not _is_smaller(broker)


def _is_smaller(broker: BrokerFacts) -> bool:
    """Whether it sends less than all topics as JSON."""
    return any(broker.is_on(name) for name in _NOT_WHOLE)


def _finding(facts: Facts, broker: BrokerFacts, size: int) -> Finding:
    words = {"broker": f"{broker.name} ({broker.addr})", "addr": broker.addr, "size": f"{size:,}",
             "most": f"{FRAME_SIZE_MAX_BYTES:,}", "percent": round(100 * size / FRAME_SIZE_MAX_BYTES)}  # fmt: skip
    evidence = (
        _measured(broker, words),
        _("its configuration says compressedRegister=%(compressed)s, enableSplitRegistration=%(split)s")
        % {"compressed": broker.setting("compressedRegister") or "false",
           "split": broker.setting("enableSplitRegistration") or "false"},
    )  # fmt: skip
    if is_too_large(broker):
        sentence = _(
            "The registration of %(broker)s is too large: about %(size)s bytes, and a name server reads %(most)s. It "
            "closes the connection, and the broker is never registered."
        )
        return Finding(NAME, State.ILL, sentence % words, evidence, _commands(facts, broker), Weight.PRECISELY)
    sentence = _("The registration of %(broker)s is near the limit: %(size)s of %(most)s bytes, %(percent)d %%.")
    return Finding(NAME, State.ILL, sentence % words, evidence, _commands(facts, broker), Weight.NOTE)


def _measured(broker: BrokerFacts, words: Mapping[str, object]) -> str:
    if broker.topics_count is None:
        return _("%(broker)s: all its topics are %(size)s bytes of JSON (request 21)") % words
    return _("%(broker)s: its %(count)s topics are about %(size)s bytes of JSON (request 21)") % {
        **words, "count": f"{broker.topics_count:,}"}  # fmt: skip


def _commands(facts: Facts, broker: BrokerFacts) -> tuple[str, ...]:
    """A broker that can send its topics in parts does so at both kinds of name servers. One of 5.x cannot compress its
    registration for a Java name server: see `elsewhere`."""
    splits = broker.setting("enableSplitRegistration") is not None
    name = "enableSplitRegistration" if splits else "compressedRegister"
    return (
        mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", name, "-v", "true"),
        _("# the broker registers with it within 30 s, and writes it into its broker.conf"),
        _("# and fewer topics: those that nobody uses can be deleted (mqadmin deleteTopic)"),
    )
