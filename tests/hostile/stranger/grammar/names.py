"""Names as no honest peer has them. None is that of an honest peer, however similar."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from tests.hostile.stranger.grammar.acts import Act, size

# Honest names begin so; a stranger's may, too, but then go on differently.
HONEST = "honest"
SYSTEM = ("SELF_TEST_TOPIC", "TBW102", "%RETRY%g", "%DLQ%g", "OFFSET_MOVED_EVENT", "RMQ_SYS_TRACE_TOPIC", "__ZONE_NAME")
ODD = ("", " ", "null", "true", "-1", "9" * 25, "1e999", "../../etc/passwd", "a=b", "a b 1 1 6", "[]", "{}", "#topic=%",
       "%", "<script>alert(1)</script>", "__proto__", "${jndi:ldap://127.0.0.1}")  # fmt: skip
POOL = 12  # names of one kind in an act
SHORT = 40
Draw = Callable[[random.Random, int], str]


def _repeated(piece: str) -> Draw:
    return lambda _, length: piece * (length // max(1, len(piece.encode()))) or piece


def _equal_but_last(chance: random.Random, length: int) -> str:
    return "e" * max(0, length - 1) + chance.choice("0123456789")


def _mixed(chance: random.Random, length: int) -> str:
    return "".join(chance.choice('ab\0\n\x1b\u2028\u202e\u05d0\U0001f600"\\ü') for _ in range(min(length, 2_000)))


KINDS: tuple[Draw, ...] = (
    lambda chance, _: f"s{chance.randrange(1_000)}",
    lambda chance, _: chance.choice(SYSTEM),
    lambda chance, _: chance.choice(ODD),
    lambda chance, _: HONEST + chance.choice(("\0", "~", "-", "\u200b", "\n", " ")),
    _repeated("n"), _repeated("\x01"), _repeated("\n"), _repeated('"\\'), _repeated("\u202eא"), _repeated("\U0001f600"),
    _repeated("\u2028"), _equal_but_last, _mixed,
)  # fmt: skip


def name(act: Act, chance: random.Random, what: str) -> str:
    """One of the act's names for brokers, topics or whatever else, of at most about ``act.longest`` bytes."""
    own = act.name(what, chance.randrange(POOL))
    return own.choice(act.some(f"names of {what}", KINDS))(own, size(own, act.longest))


def quoted(text: str) -> bytes:
    """As JSON."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


def short(text: str, length: int = SHORT) -> str:
    """Its beginning: for names of which there are many."""
    return text[:length]
