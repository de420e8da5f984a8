"""Judges pairs and counts them. It has no clock and no connections: times and the second answers are arguments."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.protocol.codes import version_name
from rocketns.shadow.comparing.cases import ReadRequest, asked
from rocketns.shadow.comparing.comparing import Comparing, Finding
from rocketns.shadow.comparing.even import version_of
from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.counting.kept import DIFFERENCES_MAX, Kept, Samples
from rocketns.shadow.counting.telling import TOLD_KEPT_MAX
from rocketns.shadow.judge.questions import Again, client_of, may_be_asked_again, question_of, text_of
from rocketns.shadow.judge.registrations import Excused, asked_instead, say_the_same, without_bytes
from rocketns.shadow.judge.starting import SETTLE_S
from rocketns.shadow.judge.waiting import Questions, Waiting
from rocketns.shadow.pairs import LATE_MS, NOTICE, Outcome, Pair

FINE = frozenset({Outcome.EQUAL, Outcome.ORDER, Outcome.LISTED})


class Judge:
    """``counts`` is what was judged since `take_counts`; ``questions`` have to be asked again."""

    def __init__(self, settle_s: float = SETTLE_S, comparing: Comparing | None = None) -> None:
        self._settle_ms = settle_s * 1000
        self._comparing = comparing or Comparing()
        self.questions = Questions()
        self.counts = Counts()
        self.own_addr: str | None = None
        self._warm_ms: float = float("inf")
        self._excused = Excused()

    def take(self, pair: Pair, now_s: float) -> Outcome | None:
        """Judge a pair, or take the relay's notice. None while it is not known: it is asked again."""
        if pair.connection == NOTICE:
            self.own_addr, self._warm_ms = pair.peer, pair.at_ms + self._settle_ms
            return None
        request = asked(pair.request)
        self._note(pair, request)
        finding = self._comparing.compare(pair, request)
        outcome = _timed(pair, finding.outcome)
        if outcome in FINE:
            self.counts.add(request.code, outcome)
            self.counts.listed.update([finding.listed] if finding.listed else [])
            return outcome
        return self._take_unwanted(pair, request, finding, outcome, now_s)

    def _note(self, pair: Pair, request: ReadRequest) -> None:
        self.counts.add_client(client_of(request))
        version = None if pair.upstream is None else version_of(pair.upstream)
        if version is not None:
            self.counts.add_release(version_name(version))

    def _take_unwanted(
        self, pair: Pair, request: ReadRequest, finding: Finding, outcome: Outcome, now_s: float
    ) -> Outcome | None:
        if pair.at_ms < self._warm_ms:
            self.counts.add(request.code, Outcome.WARMING)
            return Outcome.WARMING
        question = question_of(pair.request)
        if outcome is Outcome.DIFFERENT and (asks := asked_instead(pair, request, finding)):
            return self._take_registration(Waiting(question, request, pair, finding, now_s, asks), now_s)
        if finding.outcome in FINE or not may_be_asked_again(request):
            return self._keep(Waiting(question, request, pair, finding, now_s), pair, finding, outcome, finding.note)
        if not self.questions.add(question, request, pair, finding, now_s):
            self.counts.skipped += 1
        return None

    def _take_registration(self, waiting: Waiting, now_s: float) -> Outcome | None:
        """Others are asked instead of it."""
        pair, request, finding = waiting.pair, waiting.request, waiting.finding
        if self._excused.has(request, finding, pair.at_ms):
            return self._keep(waiting, pair, finding, finding.outcome, "it differs in the same once more")
        pair, request = without_bytes(pair, request)
        if not self.questions.add(waiting.question, request, pair, finding, now_s, waiting.asks):
            self.counts.skipped += 1
        return None

    def settle_registration(self, waiting: Waiting, answers: Sequence[Again], now_ms: int) -> Outcome:
        """Judge one by the answers to what was asked instead."""
        failures = [again.failure for again in answers if again.failure]
        if not failures and all(say_the_same(waiting.request, one, self._comparing, now_ms) for one in answers):
            self._excused.add(waiting.request, waiting.finding, now_ms)
            return self._count(waiting, Outcome.SETTLED)
        note = f"it could not be asked: {failures[0]}" if failures else "asked for what it shows, they still differ"
        return self._keep(waiting, waiting.pair, waiting.finding, waiting.finding.outcome, note)

    def settle(self, waiting: Waiting, again: Again, now_ms: int) -> Outcome:
        """Judge a question by its second answers."""
        request = waiting.request
        if again.failure:
            note = f"it could not be asked again: {again.failure}"
            return self._keep(waiting, waiting.pair, waiting.finding, waiting.finding.outcome, note)
        pair = waiting.pair._replace(at_ms=now_ms, request=again.request, upstream=again.upstream, own=again.own)
        finding = self._comparing.compare(pair, request)
        if finding.outcome in FINE:
            return self._count(waiting, Outcome.SETTLED)
        if again.reference is not None and self._is_noise(pair, again.reference, request, finding):
            return self._count(waiting, Outcome.NOISE)
        return self._keep(waiting, pair, finding, finding.outcome, finding.note or "asked again, it still differs")

    def _is_noise(self, pair: Pair, reference: bytes, request: ReadRequest, finding: Finding) -> bool:
        """Whether the two others differ wherever rocketns differs from the upstream."""
        theirs = self._comparing.compare(pair._replace(own=reference), request)
        paths = {one.path for one in finding.differences}
        is_whole = 0 < len(finding.differences) < DIFFERENCES_MAX
        return is_whole and paths <= {one.path for one in theirs.differences}

    def _count(self, waiting: Waiting, outcome: Outcome) -> Outcome:
        self.counts.add(waiting.request.code, outcome, waiting.times)
        return outcome

    def _keep(self, waiting: Waiting, pair: Pair, finding: Finding, outcome: Outcome, note: str) -> Outcome:
        kept = Kept(
            waiting.question, pair.at_ms, pair.peer, client_of(waiting.request), text_of(waiting.request), outcome,
            note, finding.differences, pair if pair.request else None, waiting.times,
        )  # fmt: skip
        self.counts.add_unwanted(waiting.request.code, outcome, kept)
        return outcome

    def take_counts(self) -> Counts:
        """What is to be told, with at most TOLD_KEPT_MAX pairs. Others are told the next time."""
        told, rest = self.counts, Samples()
        self.counts = Counts(samples=rest)
        told.samples = told.samples.split(TOLD_KEPT_MAX, rest)
        return told


def _timed(pair: Pair, outcome: Outcome) -> Outcome:
    """The outcome, or LATE."""
    if outcome is Outcome.EQUAL or pair.upstream_ms is None or pair.own_ms is None:
        return outcome
    return Outcome.LATE if pair.own_ms - pair.upstream_ms > LATE_MS else outcome
