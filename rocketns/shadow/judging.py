"""Judges pairs and counts them.

Comparing costs 10 ms to a second where answers are large, so `examine` and what follows it here run in a process of
their own; their arguments and results are values. `Judge` has no clock and no connections.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.languages import N_
from rocketns.protocol.codes import version_name
from rocketns.shadow.comparing.cases import ReadRequest
from rocketns.shadow.comparing.comparing import Comparing, Finding
from rocketns.shadow.comparing.even import version_of
from rocketns.shadow.options import SETTLE_S
from rocketns.shadow.pairs import DIFFERENCES_MAX, LATE_MS, Counts, Kept, Outcome, Pair
from rocketns.shadow.questions import (
    REQUEST_BYTES_MAX,
    Again,
    Judged,
    Questions,
    Waiting,
    client_of,
    may_be_asked_again,
    question_of,
    text_of,
)
from rocketns.shadow.registrations import Excused, asked_instead, say_the_same

FINE = frozenset({Outcome.EQUAL, Outcome.ORDER, Outcome.LISTED})
_BROKER = ("clusterName", "brokerName", "brokerAddr")
_comparing = Comparing()


def examine(pairs: Sequence[Pair]) -> list[Judged]:
    """Compare each of them."""
    return [_examine(pair) for pair in pairs]


def _examine(pair: Pair) -> Judged:
    request = ReadRequest(pair.request)
    finding = _comparing.compare(pair, request)
    version = None if pair.upstream is None else version_of(pair.upstream)
    found = Judged(request.code, finding, "", "", client_of(request), "" if version is None else version_name(version))
    if finding.outcome in FINE and _timed(pair, finding.outcome) in FINE:
        return found
    is_different = finding.outcome is Outcome.DIFFERENT
    return found._replace(
        question=question_of(pair.request), text=text_of(request),
        may_be_asked=finding.outcome not in FINE and may_be_asked_again(request),
        asks=asked_instead(pair, request, finding) if is_different else (),
        broker=tuple(request.fields.get(name) for name in _BROKER),
    )  # fmt: skip


def examine_again(pair: Pair, reference: bytes | None) -> tuple[Finding, bool]:
    """Compare second answers. Whether it is noise: the two others differ wherever rocketns does."""
    finding = _comparing.compare(pair)
    if finding.outcome in FINE or reference is None:
        return finding, False
    theirs = _comparing.compare(pair._replace(own=reference))
    paths = {one.path for one in finding.differences}
    is_whole = 0 < len(finding.differences) < DIFFERENCES_MAX
    return finding, is_whole and paths <= {one.path for one in theirs.differences}


def all_say_the_same(answers: Sequence[Again], broker: str | None, now_ms: int) -> bool:
    """Whether both servers said the same to what was asked instead of a registration of this broker."""
    return all(say_the_same(one, broker, _comparing, now_ms) for one in answers)


class Judge:
    """``counts`` are all pairs since the start; ``questions`` have to be asked again."""

    def __init__(self, settle_s: float = SETTLE_S) -> None:
        self._settle_ms = settle_s * 1000
        self.questions = Questions()
        self.counts = Counts()
        self._warm_ms: float = float("inf")
        self._excused = Excused()

    def begin(self, at_ms: float) -> None:
        """The own half answers since then, or lost a broker: brokers have ``settle_s`` to register there."""
        self._warm_ms = at_ms + self._settle_ms

    def take(self, pair: Pair, judged: Judged, now_s: float) -> Outcome | None:
        """Count a pair that was examined. None while it is not known: it is asked again."""
        counts, finding = self.counts, judged.finding
        counts.add_client(judged.client)
        if judged.release:
            counts.add_release(judged.release)
        outcome = _timed(pair, finding.outcome)
        if outcome not in FINE and pair.at_ms < self._warm_ms:
            outcome = Outcome.WARMING
        if outcome in FINE or outcome is Outcome.WARMING:
            counts.add(judged.code, outcome)
            counts.listed.update([finding.listed] if finding.listed and outcome in FINE else [])
            return outcome
        waiting = Waiting(pair, judged, now_s)
        if outcome is Outcome.DIFFERENT and judged.asks:
            if self._excused.has(judged, pair.at_ms):
                return self.keep(waiting, N_("it differs in the same once more"))
            if pair.frame_bytes > REQUEST_BYTES_MAX:
                pair = pair._replace(request=b"", upstream=None, own=None)
        elif not judged.may_be_asked:
            return self.keep(waiting, finding.note, outcome)
        counts.skipped += not self.questions.add(pair, judged, now_s)
        return None

    def settle(self, waiting: Waiting, pair: Pair, finding: Finding, *, is_noise: bool) -> Outcome:
        """Count a question by its second answers."""
        if finding.outcome in FINE or is_noise:
            return self._count(waiting, Outcome.SETTLED if finding.outcome in FINE else Outcome.NOISE)
        again = Waiting(pair, waiting.judged._replace(finding=finding), waiting.due_s, waiting.times)
        return self.keep(again, finding.note or N_("asked again, it still differs"))

    def settle_registration(self, waiting: Waiting, now_ms: int, *, is_same: bool) -> Outcome:
        """Count one by the answers to what was asked instead."""
        if is_same:
            self._excused.add(waiting.judged, now_ms)
            return self._count(waiting, Outcome.SETTLED)
        return self.keep(waiting, N_("asked for what it shows, they still differ"))

    def _count(self, waiting: Waiting, outcome: Outcome) -> Outcome:
        self.counts.add(waiting.judged.code, outcome, waiting.times)
        return outcome

    def keep(self, waiting: Waiting, note: str, outcome: Outcome | None = None) -> Outcome:
        """Count a pair that differs, and show it."""
        pair, judged = waiting.pair, waiting.judged
        kept = Kept(
            judged.question, pair.at_ms, pair.peer, judged.client, judged.text, outcome or judged.finding.outcome,
            note, judged.finding.differences, pair if pair.request else None, waiting.times,
        )  # fmt: skip
        self.counts.add_unwanted(judged.code, kept)
        return kept.outcome


def _timed(pair: Pair, outcome: Outcome) -> Outcome:
    """The outcome, or LATE."""
    if outcome is Outcome.EQUAL or pair.upstream_ms is None or pair.own_ms is None:
        return outcome
    return Outcome.LATE if pair.own_ms - pair.upstream_ms > LATE_MS else outcome
