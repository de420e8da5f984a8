"""The file of tokens: a line each, first its classes, then the token.

    # who scrapes, and may ask whether the server is ready
    probe scrape  6f1b1c51e0ad4f2fa4f1c0f4f1f6a1c2
    read drain    sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    probe         anyone

A token is 16 to 512 characters that HTTP allows in one. ``sha256:`` and 64 hexadecimal digits are the digest of a
token, which the file then does not hold. ``anyone`` opens a class. The process keeps digests only.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocketns.admin.tokens.classes import TokenClass
from rocketns.errors import RocketnsError

FILE_BYTES_MAX = 64 * 1024
TOKENS_MAX = 64
# b64token of RFC 6750. Shorter ones can be guessed.
TOKEN_CHARACTERS_MIN, TOKEN_CHARACTERS_MAX = 16, 512
TOKEN = re.compile(rf"[A-Za-z0-9._~+/-]{{{TOKEN_CHARACTERS_MIN},{TOKEN_CHARACTERS_MAX}}}=*")
DIGEST = re.compile(r"sha256:([0-9a-fA-F]{64})")
ANYONE = "anyone"

Classes = frozenset[TokenClass]


class TokensError(RocketnsError):
    """The file of tokens cannot be used. The message names the line, and never what is in it."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Digests with their classes, and the classes that need no token."""

    digests: tuple[tuple[bytes, Classes], ...] = field(repr=False)
    anyone: Classes

    def classes_of(self, token: bytes) -> Classes:
        """What this token is good for; nothing if it is unknown. The time says nothing of how alike tokens are."""
        asked = hashlib.sha256(token).digest()
        found: Classes = frozenset()
        for digest, classes in self.digests:
            if hmac.compare_digest(asked, digest):
                found |= classes
        return found


def read_tokens(content: bytes) -> Tokens:
    """The tokens of a file. TokensError with line and reason if any line is wrong, or there is no token."""
    if len(content) > FILE_BYTES_MAX:
        raise TokensError(f"it has {len(content)} bytes, and at most {FILE_BYTES_MAX} are read")
    digests: list[tuple[bytes, Classes]] = []
    anyone: Classes = frozenset()
    for number, words in _lines(content):
        classes = _classes(number, words[:-1])
        if words[-1] == ANYONE:
            anyone |= classes
        else:
            digests.append((_digest(number, words[-1]), classes))
    if not digests:
        raise TokensError("it has no token")  # it may be half written
    if len(digests) > TOKENS_MAX:
        raise TokensError(f"it has {len(digests)} tokens, and at most {TOKENS_MAX} are allowed")
    return Tokens(tuple(digests), anyone)


def _lines(content: bytes) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.lstrip().startswith(b"#"):
            continue  # a comment, in any language
        try:
            words = line.decode("ascii").split()
        except UnicodeDecodeError:
            raise TokensError(f"line {number}: only ASCII characters are allowed") from None
        if words:
            yield number, words


def _classes(number: int, words: list[str]) -> Classes:
    """The words themselves are not in the message: one of them may be a token."""
    known = ", ".join(TokenClass)
    if not words:
        raise TokensError(f"line {number}: classes ({known}) and a token are expected")
    for place, word in enumerate(words, 1):
        if word not in list(TokenClass):
            raise TokensError(f"line {number}: word {place} is none of the classes {known}; the token is the last word")
    return frozenset(TokenClass(word) for word in words)


def _digest(number: int, word: str) -> bytes:
    digest = DIGEST.fullmatch(word)
    if digest is not None:
        return bytes.fromhex(digest[1])
    if not TOKEN.fullmatch(word):
        raise TokensError(f"line {number}: the token must have {TOKEN_CHARACTERS_MIN} to {TOKEN_CHARACTERS_MAX} "
                          "letters, digits or characters of ._~+/-, and may end with =")  # fmt: skip
    return hashlib.sha256(word.encode()).digest()
