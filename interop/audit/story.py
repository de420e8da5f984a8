"""Plays one story: normal operation, a network cut, the consumers during the cut, recovery, the end, and the audit."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from interop.audit.audited import Audit, audited
from interop.audit.deployment import NAME_SERVERS, A, B, Deployment, now_ms, started
from interop.audit.seen import Holding, Message, Queues, has, holdings, messages
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.views import brokers
from interop.harness.wire import eventually

# Long time-outs: a busy machine may take ten times as long as a quiet one.
WITHIN_S = 240.0
# The worked example of the model: c1 sees both brokers, and c2 sees only broker-a.
SHARED = frozenset({"broker-a:2", "broker-a:3"})
TURNS = 2
MESSAGES_OF_QUEUE = 5


class Story(NamedTuple):
    """Times are epoch ms. ``shown``: the name servers that had broker-b during the cut. ``held`` and ``got`` are by
    consumer, ``held`` until ``ended``."""

    cut: int
    gone: int
    shown: dict[str, bool]
    healed: int
    back: int
    ended: int
    held: dict[str, list[Holding]]
    got: dict[str, list[Message]]
    sent: list[Message]
    failed: list[str]
    audit: Audit

    def first(self, name: str, queues: Queues) -> int:
        """When a consumer first had exactly these queues since the cut."""
        return next(held.ms for held in self.held[name] if held.ms > self.cut and held.queues == queues)


def play(home: Path) -> Story:
    """About a minute and a half on a quiet machine, of which the audit takes a third."""
    with Fleet(RocketnsServer, home) as fleet:
        deployment = started(fleet)
        wait_for_spread(deployment, A, B)
        wait_for_messages(deployment)
        cut = now_ms()
        deployment.between.cut()
        gone = wait_for_brokers(deployment.servers[1], {"broker-a"})
        wait_for_spread(deployment, A, SHARED)
        wait_for_turns(deployment)
        shown = {ns: "broker-b" in brokers(server) for ns, server in zip(NAME_SERVERS, deployment.servers, strict=True)}
        healed = now_ms()
        deployment.between.heal()
        back = wait_for_brokers(deployment.servers[1], {"broker-a", "broker-b"})
        wait_for_spread(deployment, A, B)
        sent, failed = end_of_sending(deployment)
        ended = now_ms()
        held = {name: holdings(consumer) for name, consumer in deployment.consumers.items()}
        got = {name: messages(consumer, "GOT") for name, consumer in deployment.consumers.items()}
        for server in deployment.servers:  # before the brokers, so that no client fails
            assert server.stop() == 0
    (found,) = audited((deployment.journal, home / "audit"))
    return Story(cut, gone, shown, healed, back, ended, held, got, sent, failed, found)


def wait_for_spread(deployment: Deployment, c1: Queues, c2: Queues) -> None:
    """Wait until each consumer has exactly these queues."""
    eventually(lambda: [has(one) for one in deployment.consumers.values()] == [c1, c2], WITHIN_S, every_s=0.1)


def wait_for_messages(deployment: Deployment) -> None:
    """Wait until some more messages of each queue were consumed."""
    since = now_ms()

    def enough() -> bool:
        got = [m.queue for one in deployment.consumers.values() for m in messages(one, "GOT") if m.ms > since]
        return all(got.count(queue) >= MESSAGES_OF_QUEUE for queue in A | B)

    eventually(enough, WITHIN_S, every_s=0.2)


def wait_for_brokers(server: NameServer, names: set[str]) -> int:
    """Wait until the name server has exactly these brokers; returns when. No lookup is sent, as lookups are counted."""
    eventually(lambda: set(brokers(server)) == names, WITHIN_S, every_s=0.1)
    return now_ms()


def wait_for_turns(deployment: Deployment) -> None:
    """Until c1 took all queues and gave broker-b's back, more than once, and c2 has the messages that it shares."""
    since = now_ms()

    def turned() -> bool:
        taken = [held.queues for held in holdings(deployment.consumers["c1"]) if held.ms > since]
        return taken.count(A | B) >= TURNS and taken.count(A) >= TURNS

    eventually(turned, WITHIN_S, every_s=0.1)
    sent = {m.text for m in messages(deployment.producer, "SENT") if m.queue in SHARED} - before(deployment)
    eventually(lambda: sent <= {m.text for m in messages(deployment.consumers["c2"], "GOT")}, WITHIN_S, every_s=0.2)


def before(deployment: Deployment) -> set[str]:
    """The messages that c1 got before c2 had c1's queues too."""
    shared = next(held.ms for held in holdings(deployment.consumers["c2"]) if held.queues == SHARED)
    return {m.text for m in messages(deployment.consumers["c1"], "GOT") if m.ms < shared}


def end_of_sending(deployment: Deployment) -> tuple[list[Message], list[str]]:
    """Stop the producer, and wait until all messages are consumed; returns the messages sent, and the failed ones."""
    deployment.producer.stop()
    assert deployment.producer.values("DONE"), "the producer ended in good order"
    sent = messages(deployment.producer, "SENT")
    texts = {message.text for message in sent}

    def consumed() -> bool:
        return texts <= {m.text for one in deployment.consumers.values() for m in messages(one, "GOT")}

    eventually(consumed, WITHIN_S, every_s=0.2)
    return sent, deployment.producer.values("FAILED")
