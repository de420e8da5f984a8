"""Why this name server or its fleet is not well: a sentence for each trouble, what to do first, and the command for it.

Names come from the network. A command with one that a terminal would not show as it is, is left out; the others are
quoted for a shell.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from rocketns.admin.api.rows import BrokerStateRow, Level, LostRow, MissingRow, ReasonRow
from rocketns.admin.recent import GONE, PAUSES_TOGETHER_MS, EventRow, Phrase, at_address, listed, member, phrase
from rocketns.config.properties import PREFIX
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.missing import MissingReason
from rocketns.fleet.state import NOT_READ, OWN, FleetState
from rocketns.languages import N_
from rocketns.protocol.codes import MASTER_ID

REASONS_MAX = 20
LOST_MAX = 100
LOST_CHARACTERS_MAX = 4_000  # of all names in the rows after the first
LOST_WITHIN_MS = 10 * 60_000
# A pause that is shorter delays heartbeats and nothing else: only many of them are a trouble.
STALL_MS = 3_000
PAUSES_MIN = 5
DAY_MS = 86_400_000
CERTIFICATE_DAYS = 14  # as the alert rule CertificateEnds
LOST_CAUSES = ("expired", "unconfirmed", "refused", "channel_close", "channel_exception", "channel_idle")
# Not of interest here: others make these topics, or the first message does, or the lack of brokers is the cause.
EXPECTED = (MissingReason.GROUP, MissingReason.SYSTEM, MissingReason.CREATED, MissingReason.NO_BROKERS)


class Trouble(NamedTuple):
    """``message`` may have ``%(names)s`` and ``%(n)s``; ``many`` is its plural. ``remedy``: what to do first."""

    level: Level
    message: str
    remedy: str = ""
    many: str | None = None


ASK_DOCTOR = N_("The doctor asks the brokers themselves, and names the cause:")
ASK_BOTH = N_("The doctor asks the brokers too: it says who is right, and what makes them agree:")
WAIT = N_("Wait: brokers register again within 30 s. This says when it is ready:")
RAISE = N_("Raise the limit in its properties file, and restart it:")
OF_DISK = N_("Make room or allow the writing: it is tried again by itself.")
RENEW = N_("Replace the files of certificate and key, which are read again by themselves. This shows the one in use:")
BUSY = N_("See what else needs its processors and its disk:")
# By the name of the kind, and what makes it a special one.
TROUBLES = {
    "notReady": Trouble("critical", N_("This name server is not ready")),
    "notReady:starting": Trouble("attention", N_("This name server is still starting")),
    "refusing": Trouble("critical", N_("Registrations are refused, the route tables are full: %(names)s"), RAISE),
    "connections": Trouble("critical", N_("The limit of connections is reached: %(n)s are open"), RAISE),
    "journalFailing": Trouble("attention", N_("The journal cannot be written"), OF_DISK),
    "journalLosing": Trouble("attention", N_("The journal's buffer is full: %(n)s records are lost"), OF_DISK),
    "certificate": Trouble("attention", N_("The TLS certificate ends in %(n)s day"), RENEW,
                           N_("The TLS certificate ends in %(n)s days")),
    "certificate:today": Trouble("attention", N_("The TLS certificate ends within a day"), RENEW),
    "certificate:ended": Trouble("critical", N_("The TLS certificate has ended"), RENEW),
    "noBroker": Trouble("critical", N_("No broker is registered"),
                        N_("In broker.conf of each broker, before it starts again:")),
    "lost": Trouble("critical", N_("Lost in the last 10 minutes: %(names)s"),
                    N_("Start it again where it ran. If it runs, the doctor says what separates it from here:")),
    "noMaster": Trouble("critical", N_("No master: %(names)s"),
                        N_("Start its master again, with these lines in its broker.conf:")),
    "late": Trouble("attention", N_("Heartbeats are late: %(names)s"), ASK_DOCTOR),
    "late:stalled": Trouble(
        "attention", N_("Heartbeats are late since this name server did not run: %(names)s"),
        N_("Wait 30 s for their next heartbeats. If they stay late, the doctor names the cause:"),
    ),
    "unconfirmed": Trouble("attention", N_("Not confirmed, still in the routes: %(names)s"), ASK_DOCTOR),
    "gone": Trouble("attention", N_("In the routes without a live entry: %(names)s"), ASK_DOCTOR),
    "wiped": Trouble("attention", N_("Write permission is wiped, so no producer can send to %(names)s"),
                     N_("When its maintenance is over, allow writing again:")),
    "viewed": Trouble("attention", N_("Registered through a view, where brokers do not belong: %(names)s"),
                      N_("Take their hosts out of the networks of views, or let them register at listenPort.")),
    "missing": Trouble("attention", N_("Asked for, and not there: %(names)s")),
    "stall": Trouble("attention", N_("This name server did not run for %(n)s second"), BUSY,
                     N_("This name server did not run for %(n)s seconds")),
    "overloaded": Trouble("attention", N_("Its machine is overloaded: %(n)s pauses in 10 minutes"), BUSY),
    "unreadable": Trouble("attention", N_("The name server %(names)s cannot be read"),
                          N_("Start it, or open the way to it. The doctor says which:")),
    "disagreeBroker": Trouble("critical", N_("Name servers disagree about broker %(names)s"), ASK_BOTH),
    "disagreeTopic": Trouble("attention", N_("Name servers disagree about topic %(names)s"), ASK_BOTH),
    "disagreeOrder": Trouble(
        "attention", N_("Name servers disagree about the order configuration of %(names)s"), ASK_BOTH
    ),
}  # fmt: skip
# Where the remedy depends on the cause.
DRAINS = N_("it drains")
NOT_READY = {
    N_("the routes are being restored"): WAIT,
    N_("it starts"): WAIT,
    DRAINS: N_("Somebody began a drain. On its machine, this ends it:"),
    N_("waitSecondsForService is not over"): N_("Wait for its end. This says when it is ready:"),
}
NOT_THERE = {
    MissingReason.BROKERS_GONE: N_("Its brokers are not registered. The doctor says why:"),
    MissingReason.NOT_A_NAME: N_("No topic can have this name: correct it in the client. Who asks is listed below."),
    MissingReason.ABSENT: N_("Correct the name in the client if it is misspelt: who asks is listed below. If it is "
                             "right, create the topic:"),
}  # fmt: skip
MISSPELT = N_("Correct the name in the client: did it mean %(nearest)s? Who asks is listed below. Only if %(topic)s "
              "is right, create it:")  # fmt: skip

NAMES_MAX = 5
NAME_CHARACTERS_MAX = 80
DETAIL_CHARACTERS_MAX = 200
COMMANDS_MAX = 3
COMMAND_CHARACTERS_MAX = 300


class StatusScene(NamedTuple):
    """What troubles are found in. ``missing``: topics that were asked for, the latest last. ``now_ms``: of the wall
    clock, as ``certificate_ends_ms``, which is None if TLS was not used yet.

    ``address``: where this name server is asked. ``drain``: the URL that ends a drain. ``journal_failure``: why it
    cannot be written; empty if it can. ``journal_losing``: records lost since the buffer became full. ``full``: the
    limit that refused a registration lately, with its value. ``refused``: the broker that was refused last, and its
    address. ``connections_full``: the limit of connections, if no more are accepted.
    """

    brokers: tuple[BrokerStateRow, ...] = ()
    lost: tuple[LostRow, ...] = ()
    wiped: tuple[str, ...] = ()
    missing: tuple[MissingRow, ...] = ()
    changes: Sequence[EventRow] = ()
    fleet: FleetState = FleetState(0)
    now_ms: int = 0
    address: str = ""
    drain: str = ""
    not_ready: str | None = None
    journal_path: str = ""
    journal_failure: str = ""
    journal_losing: int = 0
    certificate_ends_ms: int | None = None
    certificate_path: str = ""
    full: tuple[str, int] | None = None
    refused: tuple[str, str] = ("", "")
    connections_full: int = 0

    @property
    def is_starting(self) -> bool:
        """Whether brokers have had no time to register yet."""
        return self.not_ready not in (None, DRAINS)


def assess(scene: StatusScene) -> tuple[ReasonRow, ...]:
    """The reasons, the worst first."""
    finders = (_of_itself, _of_pauses, _of_brokers, _of_topics, _of_fleet)
    reasons = [one for find in finders for one in find(scene)]
    reasons.sort(key=lambda one: one.level != "critical")
    return tuple(reasons[:REASONS_MAX])


def _of_itself(scene: StatusScene) -> Iterator[ReasonRow]:
    if scene.not_ready is not None:
        drain = ("curl", "-X", "DELETE", "-H", "X-Rocketns-Change: yes", scene.drain)
        line = ("rocketns", "health", "-n", scene.address) if scene.is_starting else drain
        yield reason("notReady:starting" if scene.is_starting else "notReady", detail=scene.not_ready,
                     remedy=Phrase(NOT_READY.get(scene.not_ready, "")), commands=_lines(line))  # fmt: skip
    if scene.full:
        broker, address = (one[:NAME_CHARACTERS_MAX] for one in scene.refused)
        refused = at_address(broker, address) if broker else address
        yield reason("refusing", [broker or address], said=[refused], commands=_raised(*scene.full))
    if scene.connections_full:
        raised = _raised(f"{PREFIX}connectionsMax", scene.connections_full)
        yield reason("connections", n=scene.connections_full, commands=raised)
    folder = _lines(("df", "-h", scene.journal_path), ("ls", "-ld", scene.journal_path))
    if scene.journal_failure:
        yield reason("journalFailing", detail=scene.journal_failure, commands=folder)
    if scene.journal_losing:
        yield reason("journalLosing", n=scene.journal_losing, commands=folder)
    if scene.certificate_ends_ms is not None and scene.certificate_ends_ms - scene.now_ms < CERTIFICATE_DAYS * DAY_MS:
        yield _of_certificate(scene, scene.certificate_ends_ms)


def _of_certificate(scene: StatusScene, ends_ms: int) -> ReasonRow:
    left_ms = ends_ms - scene.now_ms
    kind = "" if left_ms >= DAY_MS else ":today" if left_ms > 0 else ":ended"
    end = f"{datetime.fromtimestamp(ends_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    look = f"openssl s_client -connect {shlex.quote(scene.address)} </dev/null | openssl x509 -noout -subject -enddate"
    return reason(f"certificate{kind}", n=None if kind else left_ms // DAY_MS,
                  detail=" ".join(filter(None, (end, scene.certificate_path))), commands=(look,))  # fmt: skip


def _of_brokers(scene: StatusScene) -> Iterator[ReasonRow]:
    doctor = _lines(("rocketns", "doctor", scene.address))
    if not scene.brokers and not scene.is_starting:
        yield reason("noBroker", commands=_settings(namesrvAddr=scene.address))
    if scene.lost:
        yield of_brokers("lost", scene.lost, doctor)
    listed: tuple[BrokerStateRow | LostRow, ...] = (*scene.brokers, *scene.lost)  # a lost master is said above
    masters = {one.broker for one in listed if one.id == MASTER_ID}
    masterless = [name for name in dict.fromkeys(row.broker for row in scene.brokers) if name not in masters]
    if masterless and not scene.is_starting:
        cluster = next((row.cluster for row in scene.brokers if row.broker == masterless[0]), None)
        lines = _settings(brokerClusterName=cluster or "", brokerName=masterless[0], brokerId=str(MASTER_ID))
        yield reason("noMaster", masterless, said=_with_last_address(scene, masterless), commands=lines)
    if late := [row for row in scene.brokers if row.state == "late"]:
        yield of_brokers("late:stalled" if all(_is_late_by_pause(scene, row) for row in late) else "late", late, doctor)
    for state in ("unconfirmed", "gone"):
        if rows := [row for row in scene.brokers if row.state == state]:
            yield of_brokers(state, rows, doctor)
    if viewed := [row for row in scene.brokers if row.view is not None]:
        yield of_brokers("viewed", viewed, ())
    if scene.wiped:
        wiped = _lines(*[("mqadmin", "addWritePerm", "-n", scene.address, "-b", name) for name in scene.wiped])
        yield reason("wiped", scene.wiped, commands=wiped)


def _with_last_address(scene: StatusScene, masterless: Sequence[str]) -> list[str | Phrase]:
    """Groups with the address at which their master was last, as far as it is known."""
    masters = {one.broker: one.address for one in scene.changes if one.event in {"reg", "down"} and one.id == MASTER_ID}
    return [
        Phrase(N_("%(broker)s (last at %(address)s)"), {"broker": name, "address": address})
        if (address := masters.get(name)) else name
        for name in masterless[:NAMES_MAX]
    ]  # fmt: skip


def _is_late_by_pause(scene: StatusScene, row: BrokerStateRow) -> bool:
    """Whether a late broker would not be late without a pause of this name server in its silence."""
    silent_ms, late_ms = row.silent_ms or 0, row.late_ms or 0
    pauses = [one for one in scene.changes if one.event == "stall" and scene.now_ms - one.at < silent_ms]
    longest_ms = max((one.amount or 0 for one in pauses), default=0)
    return longest_ms >= STALL_MS and silent_ms - longest_ms <= late_ms


def _of_topics(scene: StatusScene) -> Iterator[ReasonRow]:
    missing = [one for one in scene.missing if one.reason not in EXPECTED]
    if not missing:
        return
    first = missing[0]
    remedy, lines = Phrase(NOT_THERE.get(first.reason, "")), list[tuple[str, ...]]()
    if first.reason is MissingReason.ABSENT:
        if first.nearest:
            nearest = ", ".join(name[:NAME_CHARACTERS_MAX] for name in first.nearest)
            remedy = Phrase(MISSPELT, {"nearest": nearest, "topic": first.topic[:NAME_CHARACTERS_MAX]})
        clusters = sorted({row.cluster for row in scene.brokers if row.cluster is not None})
        lines = [("mqadmin", "updateTopic", "-n", scene.address, "-c", one, "-t", first.topic) for one in clusters]
    elif first.reason is MissingReason.BROKERS_GONE:
        lines = [("rocketns", "doctor", scene.address, "--topic", first.topic)]
    yield reason("missing", [one.topic for one in missing], remedy=remedy, commands=_lines(*lines))


def lost_brokers(brokers: Sequence[BrokerStateRow], recent: Sequence[EventRow], now_ms: int) -> tuple[LostRow, ...]:
    """Those that were lost lately and are not back, the latest first."""
    here = {(row.broker, row.id) for row in brokers}
    lost: dict[tuple[str, int], LostRow] = {}
    room = LOST_CHARACTERS_MAX
    for one in reversed(recent):
        if now_ms - one.at >= LOST_WITHIN_MS or len(lost) == LOST_MAX or room <= 0:
            break
        if one.event == "down" and one.cause in LOST_CAUSES and one.broker is not None and one.id is not None:
            key = one.broker, one.id
            if key not in here and key not in lost:
                lost[key] = LostRow(*key, one.address, one.cluster, one.at, str(one.cause), GONE[str(one.cause)])
                room -= sum(map(len, (one.broker, one.address or "", one.cluster or "")))
    return tuple(lost.values())


def _of_pauses(scene: StatusScene) -> Iterator[ReasonRow]:
    pauses = [one for one in scene.changes if one.event == "stall" and scene.now_ms - one.at < PAUSES_TOGETHER_MS]
    longest_ms, number = max((one.amount or 0 for one in pauses), default=0), sum(one.times for one in pauses)
    look = _lines(("top", "-b", "-n", "1", "-o", "%CPU"))
    if longest_ms >= STALL_MS:
        yield reason("stall", n=math.ceil(longest_ms / 1000), commands=look)
    elif number >= PAUSES_MIN:
        yield reason("overloaded", n=number, commands=look)


def _of_fleet(scene: StatusScene) -> Iterator[ReasonRow]:
    for one in scene.fleet.members:
        if not one.is_readable and one.error != NOT_READ:
            doctor = _lines(("rocketns", "doctor", one.address))
            yield reason("unreadable", [one.address], detail=one.error, commands=doctor)
    others = [one.address for one in scene.fleet.members if one.address != OWN and one.is_readable]
    asked = ";".join((scene.address, *others))
    for kind in FactKind:
        found = [one for one in scene.fleet.disagreements if one.kind is kind and not one.follows]
        if found:
            follow = sum(one.topics for one in found) if kind is FactKind.BROKER else 0
            topic = ("--topic", found[0].name) if kind is FactKind.TOPIC else ()
            doctor = _lines(("rocketns", "doctor", asked, *topic))
            yield reason(f"disagree{kind.name.title()}", [one.name for one in found], n=follow, commands=doctor)


def _lines(*commands: Sequence[str]) -> tuple[str, ...]:
    """Commands for a shell."""
    shown = [shlex.join(words) for words in commands[:COMMANDS_MAX] if all(map(str.isprintable, words))]
    return tuple(line for line in shown if len(line) <= COMMAND_CHARACTERS_MAX)


def _settings(**values: str) -> tuple[str, ...]:
    """Lines of a properties file. None, where one of the values could not stand in it."""
    lines = tuple(f"{name}={value}" for name, value in values.items() if value)
    return lines if all(line.isprintable() and len(line) <= COMMAND_CHARACTERS_MAX for line in lines) else ()


def _raised(limit: str, most: int) -> tuple[str, ...]:
    """Lines of a properties file: the limit with its value and twice as much. None for one that is no property."""
    return (f"# {limit}={most} is reached", f"{limit}={2 * most}") if limit.startswith(PREFIX) else ()


def of_brokers(kind: str, brokers: Sequence[BrokerStateRow | LostRow], commands: tuple[str, ...]) -> ReasonRow:
    """A reason that names brokers with their roles; lost ones also with their addresses."""
    said: list[str | Phrase] = []
    for one in brokers[:NAMES_MAX]:
        broker, address = member(one.broker[:NAME_CHARACTERS_MAX], one.id), one.address or ""
        said.append(at_address(broker, address[:NAME_CHARACTERS_MAX]) if isinstance(one, LostRow) else broker)
    return reason(kind, [one.broker for one in brokers], said=said, commands=commands)


def reason(
    kind: str, names: Sequence[str] = (), *, said: Sequence[str | Phrase] = (), n: int | None = None, detail: str = "",
    remedy: Phrase | None = None, commands: tuple[str, ...] = (),
) -> ReasonRow:  # fmt: skip
    """``kind``: of TROUBLES. ``said``: the first names with what is known of each. ``detail``: technical words, which
    stay English. ``remedy``: None is the one of the kind. ``commands``: those of the remedy.
    """
    level, message, usual, many = TROUBLES[kind]
    remedy = remedy or Phrase(usual)
    shown = tuple(one[:NAME_CHARACTERS_MAX] for one in names[:NAMES_MAX])
    values = {"names": listed(said or shown, len(names) - len(shown)), "n": f"{n or 0:,}"}
    sentence = phrase(many if many is not None and n != 1 else message, values)
    detail = detail[:DETAIL_CHARACTERS_MAX]
    text = ": ".join(filter(None, (str(sentence), detail)))
    name = kind.partition(":")[0]
    return ReasonRow(level, text, name, sentence, n, shown, detail, str(remedy), remedy, commands)
