"""Judges pairs and counts them: what differs is settled by what both servers say later, or else counted.

A read is asked again. A registration is a sign of life of a broker, and is never sent again: the broker itself sends it
every 30 s, so what differs once is a race with a change on another connection, and what differs again is not.

Comparing costs 10 ms to a second where answers are large, so `examine` and `examine_again` run in a process of their
own; their arguments and results are values. `Judge` has no clock and no connections.
"""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from rocketns.languages import N_
from rocketns.protocol.codes import LanguageCode, SerializeType, request_name, version_name
from rocketns.protocol.codes import RequestCode as Code
from rocketns.shadow.comparing.comparing import Comparing, PairVerdict
from rocketns.shadow.frames import ReadRequest, joined, split
from rocketns.shadow.options import SETTLE_S
from rocketns.shadow.pairs import LATE_MS, SHOWN_CHARACTERS, Counts, Outcome, Pair, Sample
from rocketns.shadow.tree import UnreadableError
from rocketns.tools.decode.showing import SECRET_FIELDS

FINE = frozenset({Outcome.EQUAL, Outcome.ORDER, Outcome.LISTED})
# Reads without any effect, that cost Java little. Never 322, 904 and 103, which count as heartbeats of a broker, and
# never 224, which takes a second of a Java server.
ASKED_AGAIN = frozenset({
    Code.GET_KV_CONFIG, Code.GET_ROUTEINFO_BY_TOPIC, Code.GET_BROKER_CLUSTER_INFO,
    Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Code.GET_KVLIST_BY_NAMESPACE, Code.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    Code.GET_UNIT_TOPIC_LIST, Code.GET_HAS_UNIT_SUB_TOPIC_LIST, Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    Code.GET_NAMESRV_CONFIG, Code.GET_BROKER_MEMBER_GROUP,
})  # fmt: skip
ASK_AFTER_S = 1.0
# Brokers register every 30 s, and at most every 60 s.
REGISTERED_AGAIN_S = 90.0
# Larger ones are judged by their answers alone, and kept without their frames.
REQUEST_BYTES_MAX = 64 * 1024
# Of REQUEST_BYTES_MAX each; pairs with other questions are skipped.
WAITING_MAX = 1_000
_OPAQUE = re.compile(rb'"opaque":-?\d{1,10}(?=[,}])')
_BEFORE_OPAQUE = 5  # in a binary header: code, language and version
_comparing = Comparing()


class Judged(NamedTuple):
    """What one comparison found. ``question`` is the same for pairs that ask the same; ``text`` and ``client`` are for
    people. ``may_be_asked``: asking again settles it."""

    code: int
    finding: PairVerdict
    client: str
    question: str = ""
    text: str = ""
    may_be_asked: bool = False

    @property
    def is_registration(self) -> bool:
        """Whose differences the broker's next one settles."""
        return self.code == Code.REGISTER_BROKER and self.finding.outcome is Outcome.DIFFERENT


def examine(pairs: Sequence[Pair]) -> list[Judged]:
    """Compare each of them."""
    return [_examine(pair) for pair in pairs]


def _examine(pair: Pair) -> Judged:
    request = ReadRequest(pair.request)
    finding = _comparing.compare(pair, request)
    found = Judged(request.code, finding, client_of(request))
    if finding.outcome in FINE and _timed(pair, finding.outcome) in FINE:
        return found
    broker = repr([request.fields.get(name) for name in ("clusterName", "brokerName", "brokerAddr")])
    return found._replace(
        question=_hash(broker.encode()) if found.is_registration else question_of(pair.request),
        text=text_of(request), may_be_asked=finding.outcome not in FINE and may_be_asked_again(request),
    )  # fmt: skip


def examine_again(pair: Pair) -> PairVerdict:
    """Compare second answers."""
    return _comparing.compare(pair)


def may_be_asked_again(request: ReadRequest) -> bool:
    """Whether asking changes nothing, and its answer can be told from others by an opaque of ours."""
    if request.code not in ASKED_AGAIN or request.is_oneway or len(request.frame) > REQUEST_BYTES_MAX:
        return False
    return request.is_binary or len(_OPAQUE.findall(request.header)) == 1


def with_opaque(frame: bytes, opaque: int) -> bytes:
    """The same request with another opaque; it must be one that `may_be_asked_again`."""
    parts = split(frame)
    if parts.kind == SerializeType.ROCKETMQ:
        header = parts.header[:_BEFORE_OPAQUE] + opaque.to_bytes(4, "big") + parts.header[_BEFORE_OPAQUE + 4 :]
    else:
        header = _OPAQUE.sub(b'"opaque":%d' % opaque, parts.header)
    return joined(parts._replace(header=header))


def question_of(frame: bytes) -> str:
    """The same text for requests that differ only in their opaque."""
    with contextlib.suppress(UnreadableError):
        frame = with_opaque(frame, 0)
    return _hash(frame)


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()


def text_of(request: ReadRequest) -> str:
    """A request for people: its name and fields, without what signs it. It can be encoded, whatever a peer sent."""
    name = request_name(request.code) if request.command is not None else "unreadable"
    text = name if name != "unknown" else f"request {request.code}"
    for field, value in sorted(request.fields.items()):
        if field.lower() not in SECRET_FIELDS and len(text) <= SHOWN_CHARACTERS:
            text += f" {field}={value}"[:SHOWN_CHARACTERS]
    text = text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
    return text.encode("utf-8", "backslashreplace").decode()


def client_of(request: ReadRequest) -> str:
    """Language and version of who sent it, as ``JAVA 5.5.0``."""
    command = request.command
    if command is None:
        return "unreadable"
    language = command.language if command.language in LanguageCode.__members__ else "another language"
    return f"{language} {version_name(max(command.version, 0))}"


@dataclass(slots=True)
class Waiting:
    """``times`` pairs asked it and differed; ``pair`` is the first of them."""

    pair: Pair
    judged: Judged
    due_s: float
    times: int = 1


class Questions:
    """In the order in which they are due, ``after_s`` after their first pair. One that is taken is here no more."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s
        self._waiting: dict[str, Waiting] = {}
        self._order: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, pair: Pair, judged: Judged, now_s: float) -> bool:
        """Whether there was room."""
        pending = self._waiting.get(judged.question)
        if pending is not None:
            pending.times += 1
            return True
        if len(self._waiting) >= WAITING_MAX:
            return False
        self._waiting[judged.question] = Waiting(pair, judged, now_s + self._after_s)
        self._order.append(judged.question)
        return True

    def pop_due(self, now_s: float) -> Iterator[Waiting]:
        """Each one whose time has come."""
        while self._order and self._waiting[self._order[0]].due_s <= now_s:
            yield self._waiting.pop(self._order.popleft())


class Judge:
    """``counts`` are all pairs since the start; ``questions`` have to be asked again. The brokers of ``registrations``
    will register again."""

    def __init__(self, settle_s: float = SETTLE_S) -> None:
        self._settle_ms = settle_s * 1000
        self.questions, self.registrations = Questions(ASK_AFTER_S), Questions(REGISTERED_AGAIN_S)
        self.counts = Counts()
        self._warm_ms: float = float("inf")

    def begin(self, at_ms: float) -> None:
        """The own half answers since then, or lost a broker: brokers have ``settle_s`` to register there."""
        self._warm_ms = at_ms + self._settle_ms

    def count(self, pair: Pair, judged: Judged, now_s: float) -> Outcome | None:
        """Count a pair that was examined. None while it is not known."""
        counts, finding = self.counts, judged.finding
        counts.add_client(judged.client)
        outcome = _timed(pair, finding.outcome)
        if outcome not in FINE and pair.at_ms < self._warm_ms:
            outcome = Outcome.WARMING
        if outcome in FINE or outcome is Outcome.WARMING:
            counts.add(judged.code, outcome)
            counts.listed.update([finding.listed] if finding.listed and outcome in FINE else [])
            return outcome
        if outcome is Outcome.DIFFERENT and judged.is_registration:
            if pair.frame_bytes > REQUEST_BYTES_MAX:
                pair = pair._replace(request=b"", upstream=None, own=None)
            has_room = self.registrations.add(pair, judged, now_s)
        elif judged.may_be_asked:
            has_room = self.questions.add(pair._replace(upstream=None, own=None), judged, now_s)
        else:
            return self.add_sample(Waiting(pair, judged, now_s), finding.note, outcome)
        counts.skipped += not has_room
        return None

    def settle(self, waiting: Waiting, pair: Pair, finding: PairVerdict) -> Outcome:
        """Count a question by its second answers."""
        if finding.outcome in FINE:
            return self._settled(waiting)
        again = Waiting(pair, waiting.judged._replace(finding=finding), waiting.due_s, waiting.times)
        return self.add_sample(again, finding.note or N_("asked again, it still differs"))

    def settle_registrations(self, now_s: float) -> None:
        """Count those whose brokers have had time to register again."""
        for waiting in self.registrations.pop_due(now_s):
            if waiting.times == 1:
                self._settled(waiting)
            else:
                self.add_sample(waiting, N_("it differs whenever this broker registers"))

    def _settled(self, waiting: Waiting) -> Outcome:
        self.counts.add(waiting.judged.code, Outcome.SETTLED, waiting.times)
        return Outcome.SETTLED

    def add_sample(self, waiting: Waiting, note: str, outcome: Outcome | None = None) -> Outcome:
        """Count a pair that differs, and show it."""
        pair, judged = waiting.pair, waiting.judged
        sample = Sample(
            judged.question, pair.at_ms, pair.peer, judged.client, judged.text, outcome or judged.finding.outcome,
            note, judged.finding.differences, pair if pair.request else None, waiting.times,
        )  # fmt: skip
        self.counts.add_unwanted(judged.code, sample)
        return sample.outcome


def _timed(pair: Pair, outcome: Outcome) -> Outcome:
    """The outcome, or LATE."""
    if outcome is Outcome.EQUAL or pair.upstream_ms is None or pair.own_ms is None:
        return outcome
    return Outcome.LATE if pair.own_ms - pair.upstream_ms > LATE_MS else outcome
