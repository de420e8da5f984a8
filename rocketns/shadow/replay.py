"""`rocketns replay`: plays recorded requests to a name server, and compares its answers with the recorded ones.

Each recorded connection has one of its own, and the requests go out one after the other, in the order of the file.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from rocketns.addresses import split, with_port
from rocketns.errors import MalformedFrame, RocketnsError
from rocketns.processor.requests import REQUESTS
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import request_name
from rocketns.protocol.command import RemotingCommand, decode
from rocketns.shadow.comparing.comparing import Comparing, PairVerdict
from rocketns.shadow.options import parse_replay
from rocketns.shadow.pairs import UNWANTED, Counts, Outcome, Pair
from rocketns.shadow.recording import clean, decoded, read_recording
from rocketns.shadow.tree import UnreadableError
from rocketns.tools.keys import tls_context, tls_of
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, Report, TextTable, print_report, run_command

ANSWER_WITHIN_S = 10.0
# A read that differs is asked again after SETTLE_S, so many of them: the state may still change.
ASKED_AGAIN_MAX, SETTLE_S = 200, 1.0
# Differing pairs that are shown; all are counted.
SHOWN_MAX = 20
# A replay is no relay: nothing of it is late, or compared with a reference.
COLUMNS = (Outcome.EQUAL, Outcome.ORDER, Outcome.LISTED, Outcome.SETTLED, Outcome.DIFFERENT, Outcome.MISSING)
_LENGTH_BYTES = 4


class UnreachableError(RocketnsError):
    """Nobody answers at the address."""


class NoAnswerError(RocketnsError):
    """The server closed the connection, sent no frame, or took too long."""


class ReplayConnection:
    """To the name server that is asked. One at a time: a request, then its answer, within the same time."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None, within_s: float) -> None:
        """UnreachableError where nobody answers in time."""
        self._within_s = within_s
        try:
            self._socket = socket.create_connection((host, port), within_s)
            if tls is not None:
                self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        except OSError as error:
            raise UnreachableError(f"{with_port(host, port)} cannot be reached: {error}") from error

    def ask(self, frame: bytes, command: RemotingCommand) -> bytes | None:
        """The answer; None where none is due (oneway). NoAnswerError."""
        opaque = command.opaque if frame[_LENGTH_BYTES] != 0 or b'"opaque"' in frame else None
        self._ends_s = time.monotonic() + self._within_s
        try:
            self._socket.settimeout(self._within_s)
            self._socket.sendall(frame)
            return None if command.is_oneway else self._answer(opaque)
        except (OSError, MalformedFrame) as error:
            raise NoAnswerError(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """End it at once."""
        self._socket.close()

    def _answer(self, opaque: int | None) -> bytes:
        while True:  # also notifications may come before it
            length = self._read(_LENGTH_BYTES)
            size = int.from_bytes(length, "big", signed=True)
            if not 0 < size <= FRAME_SIZE_MAX_BYTES - _LENGTH_BYTES:
                raise NoAnswerError(f"a frame of {size} bytes")
            frame = length + self._read(size)
            command = decode(frame)
            if command.is_response and opaque in (None, command.opaque):
                return frame

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._socket.settimeout(max(self._ends_s - time.monotonic(), 0.001))
            more = self._socket.recv(size - len(data))
            if not more:
                raise NoAnswerError("the connection was closed")
            data += more
        return bytes(data)


class Differing(NamedTuple):
    """``number`` counts recorded requests from 1 on."""

    number: int
    code: int
    peer: str
    finding: PairVerdict


@dataclass(slots=True)
class Result(Counts):
    """``judged`` and ``unwanted`` are about pairs whose answers were compared. ``oneway`` requests have no answer;
    ``unanswered`` ones had none when they were recorded. ``unsent`` may change something, or are unknown."""

    sent: int = 0
    unsent: int = 0
    oneway: int = 0
    unanswered: int = 0
    differing: list[Differing] = field(default_factory=list)  # the first of them

    def compared(self, one: Differing) -> None:
        """One pair."""
        finding = one.finding
        self.add(one.code, finding.outcome)
        self.listed += Counter([finding.listed] if finding.listed else [])
        if finding.outcome in UNWANTED and len(self.differing) < SHOWN_MAX:
            self.differing.append(one)


class Player:
    """``open_one`` makes a connection; its UnreachableError ends the replay.

    ``with_changes``: also what registers, unregisters or changes something is sent, once. ``settle`` is called before
    a read that differs is asked again.
    """

    def __init__(self, open_one: Callable[[], ReplayConnection], *, with_changes: bool,
                 settle: Callable[[], object]) -> None:  # fmt: skip
        self._open_one, self._with_changes, self._settle = open_one, with_changes, settle
        self._open: dict[int, ReplayConnection] = {}
        self._comparing = Comparing()
        self._asked_again = 0
        self.result = Result()

    def play(self, pairs: Iterable[Pair]) -> Result:
        """Play all of them."""
        try:
            for number, pair in enumerate(pairs, 1):
                command = decoded(pair.request)
                if changes(command.code) and not self._with_changes:
                    self.result.unsent += 1
                else:
                    self._play(number, pair, command)
        finally:
            for connection in self._open.values():
                connection.close()
        return self.result

    def _play(self, number: int, pair: Pair, command: RemotingCommand) -> None:
        answer = self._ask(pair, command)
        self.result.sent += 1
        if command.is_oneway:
            self.result.oneway += 1
            return
        if pair.upstream is None:
            self.result.unanswered += 1
            return
        finding = self._found(pair, command, answer)
        may_ask = self._asked_again < ASKED_AGAIN_MAX and not changes(command.code)
        if finding.outcome is Outcome.DIFFERENT and may_ask:
            self._asked_again += 1
            self._settle()
            again = self._found(pair, command, self._ask(pair, command))
            finding = PairVerdict(Outcome.SETTLED) if again.outcome in COLUMNS[:3] else finding
        self.result.compared(Differing(number, command.code, pair.peer, finding))

    def _found(self, pair: Pair, command: RemotingCommand, answer: bytes | None) -> PairVerdict:
        with contextlib.suppress(UnreadableError):
            answer = answer and clean(command, answer)
        return self._comparing.compare(pair._replace(own=answer))

    def _ask(self, pair: Pair, command: RemotingCommand) -> bytes | None:
        """The answer; None if there is none, or none is due."""
        if pair.connection not in self._open:
            self._open[pair.connection] = self._open_one()
        try:
            return self._open[pair.connection].ask(pair.request, command)
        except NoAnswerError:
            self._open.pop(pair.connection).close()
            return None


def changes(code: int) -> bool:
    """Whether a request may change something."""
    return code not in REQUESTS or REQUESTS[code].has_effect


def main(arguments: Sequence[str]) -> int:
    """``arguments`` without the word replay. Return the exit status."""
    return run_command("rocketns replay", partial(_run, parse_replay(arguments)))


def _run(options: Namespace) -> int:
    host, port = split(options.to)
    assert port is not None
    tls = tls_context(tls_of(options, os.environ))
    player = Player(
        lambda: ReplayConnection(host, port, tls, ANSWER_WITHIN_S), with_changes=options.all,
        settle=lambda: time.sleep(SETTLE_S),
    )  # fmt: skip
    result = player.play(read_recording(options.file))
    print_report(report(result, options.to))
    if not result.judged:
        raise RocketnsError("nothing was compared; --all sends requests that change something, too")
    return EXIT_DIFFERENT if result.unwanted else EXIT_FOUND


def report(result: Result, addr: str) -> Report:
    """For people."""
    parts: Report = [f"{result.sent} requests were sent to {addr}, and {result.judged} answers compared."]
    parts += [f"{number} {text}." for number, text in (
        (result.unsent, "were not sent: they may change something"), (result.oneway, "have no answer (oneway)"),
        (result.unanswered, "had no recorded answer"),
    ) if number]  # fmt: skip
    if result.judged:
        rows = [(name, *(str(numbers[one]) for one in COLUMNS)) for name, numbers in result.by_request()]
        parts.append(TextTable(("REQUEST", *(str(one).upper() for one in COLUMNS)), rows))
    parts += [f"{number} show the listed difference {name}." for name, number in sorted(result.listed.items())]
    for number, code, peer, finding in result.differing:
        note = f"; {finding.note}" if finding.note else ""
        parts.append(f"pair {number}, request {code} ({request_name(code)}) of {peer}: {finding.outcome}{note}")
        parts += [
            f"    {one.path}: recorded {one.upstream or '-'}, now {one.own or '-'}" for one in finding.differences
        ]
    more = result.unwanted - len(result.differing)
    return [*parts, f"{more} more differ."] if more else parts
