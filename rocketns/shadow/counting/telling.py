"""How the judge tells its counts to the relay: a length of four bytes, then JSON."""

from __future__ import annotations

import base64
import struct
from collections import Counter
from dataclasses import asdict
from typing import Any

import orjson

from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.counting.kept import DIFFERENCES_MAX, PAIR_KEPT_BYTES_MAX, Difference, Kept, Samples
from rocketns.shadow.pairs import Outcome, Pair

# Kept pairs of one message; the judge keeps others for the next one.
TOLD_KEPT_MAX = 10
TOLD_BYTES_MAX = 2 * TOLD_KEPT_MAX * PAIR_KEPT_BYTES_MAX
_LENGTH = struct.Struct(">I")
_FRAMES = ("request", "upstream", "own")


def told(counts: Counts) -> bytes:
    """The message of some counts, of which at most TOLD_KEPT_MAX pairs are kept."""
    text = orjson.dumps({
        "outcomes": [[name, outcome, number] for (name, outcome), number in counts.outcomes.items()],
        "listed": counts.listed, "clients": counts.clients, "releases": counts.releases,
        "skipped": counts.skipped, "different_ms": counts.different_ms,
        "kept": [_plain(kept) for kept in counts.samples], "more": counts.samples.more,
    })  # fmt: skip
    return _LENGTH.pack(len(text)) + text


def _plain(kept: Kept) -> dict[str, Any]:
    plain = asdict(kept)
    plain["pair"] = None if kept.pair is None else kept.pair._asdict() | {
        name: None if (data := getattr(kept.pair, name)) is None else base64.b64encode(data).decode()
        for name in _FRAMES
    }  # fmt: skip
    return plain


class Listening:
    """Counts from the stream of a judge's messages."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Counts]:
        """The messages that these bytes finish. ValueError for bytes that no judge sends."""
        self._rest += data
        found = []
        while len(self._rest) >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._rest)
            if size > TOLD_BYTES_MAX:
                raise ValueError(f"a message of {size} bytes")
            end = _LENGTH.size + size
            if len(self._rest) < end:
                break
            found.append(_counts(bytes(self._rest[_LENGTH.size : end])))
            del self._rest[:end]
        return found


def _counts(text: bytes) -> Counts:
    try:
        plain = orjson.loads(text)
        outcomes = {(name, Outcome(outcome)): number for name, outcome, number in plain["outcomes"]}
        listed, clients, releases = (Counter[str](plain[name]) for name in ("listed", "clients", "releases"))
        counts = Counts(Counter(outcomes), listed, clients, releases, plain["skipped"], plain["different_ms"])
        counts.samples = Samples(TOLD_KEPT_MAX)
        for one in plain["kept"]:
            counts.samples.add(_kept(one))
        counts.samples.more = plain["more"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"no counts: {error}") from error
    return counts


def _kept(plain: dict[str, Any]) -> Kept:
    differences = tuple(Difference(**one) for one in plain["differences"][:DIFFERENCES_MAX])
    pair = plain["pair"]
    if pair is not None:
        frames = {name: None if pair[name] is None else base64.b64decode(pair[name]) for name in _FRAMES}
        pair = Pair(**pair | frames)
    return Kept(**plain | {"differences": differences, "outcome": Outcome(plain["outcome"]), "pair": pair})
