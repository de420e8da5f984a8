"""A recording's lines: its head and one line for each pair, as JSON. Nothing of a line is trusted."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import orjson

from rocketns.errors import RocketnsError
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.command import next_frame
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.pairs import PAIR_BYTES_MAX, PEER_BYTES_MAX, Pair

FORMAT = "rocketns-frames"
VERSION = 1
LINE_BYTES_MAX = PAIR_BYTES_MAX // 3 * 4 + 4096
"""Of a line: a pair's frames as base64, and what is beside them."""
TIME_MAX = 2**53


class RecordingError(RocketnsError):
    """A file is no recording, or a line of it cannot be read."""


class Head(NamedTuple):
    """What holds for a whole recording. ``has_hashed_names``: no name in it is a real one."""

    has_hashed_names: bool = False
    note: str = ""


class Recorded(NamedTuple):
    """A pair, and how its answers compared; None if nobody compared them."""

    pair: Pair
    outcome: Outcome | None = None


def head_line(head: Head) -> bytes:
    """The first line."""
    fields = {"format": FORMAT, "version": VERSION, "names": "hashed" if head.has_hashed_names else "plain"}
    return _line(fields | ({"note": head.note} if head.note else {}))


def pair_line(recorded: Recorded) -> bytes:
    """The line of a pair. Of the times only the upstream's is kept: it says in which order requests were answered."""
    pair = recorded.pair
    fields: dict[str, Any] = {
        "at_ms": pair.at_ms, "connection": pair.connection, "peer": pair.peer, "request": _base64(pair.request),
        "upstream": _base64(pair.upstream), "own": _base64(pair.own), "outcome": recorded.outcome,
    }  # fmt: skip
    if pair.upstream_ms is not None:
        fields["upstream_ms"] = round(pair.upstream_ms, 3)
    return _line(fields)


def read_head(line: bytes) -> Head:
    """The head of a file. RecordingError."""
    fields = _object(line)
    if fields.get("format") != FORMAT:
        raise RecordingError("it is no recording of rocketns")
    if fields.get("version") != VERSION:
        raise RecordingError(f"its version is {fields.get('version')!r}, and this rocketns reads {VERSION}")
    note = fields.get("note", "")
    return Head(fields.get("names") == "hashed", note if isinstance(note, str) else "")


def read_pair(line: bytes) -> Recorded:
    """One line. RecordingError."""
    fields = _object(line)
    request = _frame(fields.get("request"))
    if request is None:
        raise RecordingError("a pair without a request")
    pair = Pair(
        _number(fields.get("connection")), _peer(fields.get("peer")), _number(fields.get("at_ms")),
        request, _frame(fields.get("upstream")), _frame(fields.get("own")), _time(fields.get("upstream_ms")), None,
    )  # fmt: skip
    return Recorded(pair, _outcome(fields.get("outcome")))


def _line(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields) + b"\n"


def _base64(frame: bytes | None) -> str | None:
    return None if frame is None else base64.b64encode(frame).decode("ascii")


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise RecordingError("a line is no JSON") from error
    if not isinstance(found, dict):
        raise RecordingError("a line is no JSON object")
    return found


def _frame(value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        frame = base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise RecordingError("a frame is no base64") from error
    if next_frame(frame, 0, FRAME_SIZE_MAX_BYTES) != len(frame):
        raise RecordingError("a frame is not whole")
    return frame


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= TIME_MAX:
        raise RecordingError("at_ms and connection are numbers from 0 on")
    return value


def _time(value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= TIME_MAX:
        raise RecordingError("upstream_ms is a number from 0 on")
    return float(value)


def _peer(value: Any) -> str:
    if not isinstance(value, str):
        raise RecordingError("a peer is a text")
    return value[:PEER_BYTES_MAX]


def _outcome(value: Any) -> Outcome | None:
    try:
        return None if value is None else Outcome(value)
    except ValueError as error:
        raise RecordingError("an outcome that this rocketns does not know") from error
