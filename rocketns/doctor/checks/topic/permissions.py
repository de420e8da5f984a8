"""Topics whose queues cannot be written or read: wiped at the name server, or set so at the topic."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import listed, mqadmin
from rocketns.doctor.checks.weighing import weight_of_brokers
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import PERM_READ, PERM_WRITE
from rocketns.protocol.names import SELF_TEST_TOPIC

WIPED, READ_ONLY = "permission-wiped", "topic-read-only"


def wiped(facts: Facts) -> Iterator[Finding]:
    """A finding for the brokers whose write permission is wiped."""
    found = wiped_brokers(facts)
    if not found:
        return
    weight = weight_of_brokers(facts, found.keys())
    words = {"brokers": listed(found), "topics": listed(facts.options.topics)}
    if facts.options.topics and weight is Weight.EXPLAINS:
        sentence = _("The write permission of %(brokers)s is wiped, and %(topics)s has no other broker: producers get "
                     "\"No route info of this topic\".") % words  # fmt: skip
    else:
        sentence = _("The write permission of %(brokers)s is wiped, so producers find no queue there.") % words
    evidence = tuple(
        _("%(broker)s at %(addr)s: its topic SELF_TEST_TOPIC, which is always writable, has the permission %(perm)s")
        % {"broker": broker, "addr": addr, "perm": perm_text(perm)}
        for broker, places in sorted(found.items()) for addr, perm in places.items()
    )  # fmt: skip
    commands = tuple(mqadmin(facts, "addWritePerm", "-b", broker) for broker in sorted(found))
    yield Finding(WIPED, State.ILL, sentence, evidence, commands, weight)


def wiped_brokers(facts: Facts) -> dict[str, dict[str, int]]:
    """By broker name, the name servers that show its own topic without write permission, with that permission."""
    found: dict[str, dict[str, int]] = {}
    masters = facts.masters()
    for one in facts.readable:
        for broker, queues in one.queues(SELF_TEST_TOPIC).items():
            # A name server itself wipes a group whose slave acts as master.
            if not queues.perm & PERM_WRITE and broker in masters:
                found.setdefault(broker, {})[one.addr] = queues.perm
    return found


def read_only(facts: Facts) -> Iterator[Finding]:
    """Findings for each topic with queues that cannot be written, or cannot be read."""
    everywhere = wiped_brokers(facts)
    for topic in facts.options.topics:
        ill: dict[str, QueueData] = {}
        for one in facts.name_servers:
            ill |= {
                name: queues for name, queues in one.queues(topic).items()
                if _is_ill(queues, is_wiped=one.addr in everywhere.get(name, {}))
            }  # fmt: skip
        unwritable = {name: one for name, one in ill.items() if not _writable(one)}
        unreadable = {name: one for name, one in ill.items() if not _readable(one)}
        if unwritable.keys() >= facts.queues(topic).keys() and unwritable:
            yield _finding(facts, topic, unwritable, _(
                "The topic %(topic)s cannot be written on any of its brokers, %(brokers)s: producers get \"No route "
                "info of this topic\"."
            ))  # fmt: skip
        elif unwritable:
            yield _finding(facts, topic, unwritable, _(
                "The topic %(topic)s cannot be written on %(brokers)s, so producers find no queue of it there."
            ))  # fmt: skip
        if unreadable:
            yield _finding(facts, topic, unreadable, _(
                "The topic %(topic)s cannot be read on %(brokers)s, so consumers get none of its messages there."
            ))  # fmt: skip


def _is_ill(queues: QueueData, *, is_wiped: bool) -> bool:
    """Where the whole broker is wiped, the missing permission to write is not the topic's."""
    return not _readable(queues) or not (_writable(queues) or is_wiped)


def _writable(queues: QueueData) -> bool:
    return bool(queues.perm & PERM_WRITE) and queues.write_queue_nums > 0


def _readable(queues: QueueData) -> bool:
    return bool(queues.perm & PERM_READ) and queues.read_queue_nums > 0


def _finding(facts: Facts, topic: str, ill: dict[str, QueueData], sentence: str) -> Finding:
    evidence = tuple(
        _("%(broker)s: permission %(perm)s, %(read)d read queues, %(write)d write queues (request 105)")
        % {"broker": name, "perm": perm_text(one.perm), "read": one.read_queue_nums, "write": one.write_queue_nums}
        for name, one in sorted(ill.items())
    )
    masters = facts.masters()
    commands = tuple(
        command for name, one in sorted(ill.items()) for command in _commands(facts, topic, masters.get(name), one)
    )
    weight = Weight.EXPLAINS if ill.keys() >= facts.queues(topic).keys() else Weight.PARTLY
    return Finding(READ_ONLY, State.ILL, sentence % {"topic": topic, "brokers": listed(ill)}, evidence, commands,
                   weight)  # fmt: skip


def _commands(facts: Facts, topic: str, addr: str | None, queues: QueueData) -> Iterator[str]:
    if addr is None:
        return
    read, write = queues.read_queue_nums, queues.write_queue_nums
    count = str(max(read, write, 1))
    if read and write:
        yield mqadmin(facts, "updateTopicPerm", "-b", addr, "-t", topic, "-p", "6")
    else:
        yield mqadmin(facts, "updateTopic", "-b", addr, "-t", topic, "-r", count, "-w", count, "-p", "6")


def perm_text(perm: int) -> str:
    """As PermName.perm2String writes it: ``RW-``, with the number."""
    letters = "".join(letter if perm & bit else "-" for bit, letter in ((PERM_READ, "R"), (PERM_WRITE, "W")))
    return f"{perm} ({letters})"
