"""The file of tokens while the server runs: read again when it changes; if it is wrong, the tokens before stay."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rocketns.admin.tokens.classes import TokenClass
from rocketns.config.properties import PREFIX
from rocketns.errors import RocketnsError, StartupError
from rocketns.server.following import Followed

log = logging.getLogger("rocketns.admin")

NAME = f"{PREFIX}adminTokensFile"

FILE_BYTES_MAX = 64 * 1024
TOKENS_MAX = 64
# b64token of RFC 6750. Shorter ones can be guessed.
TOKEN_CHARACTERS_MIN, TOKEN_CHARACTERS_MAX = 16, 512
TOKEN = re.compile(rf"[A-Za-z0-9._~+/-]{{{TOKEN_CHARACTERS_MIN},{TOKEN_CHARACTERS_MAX}}}=*")
DIGEST = re.compile(r"sha256:([0-9a-fA-F]{64})")
ANYONE = "anyone"

Classes = frozenset[TokenClass]


class TokenFile:
    """``tokens`` are those in force. Made by control; its methods are for the loop of the management port."""

    def __init__(self, path: str) -> None:
        """StartupError if the file cannot be read, or is wrong."""
        self._path = path
        self._followed = Followed([path])  # before it is read, so that no change is missed
        self.failures = 0
        try:
            self.tokens: Tokens = self._read()
        except TokensError as error:
            raise StartupError(f"{NAME}: {error}") from error

    def check(self) -> bool:
        """Read it again if its content has changed: see `reread`. A deleted file changes nothing."""
        return bool(self._followed.changed()) and self.reread()

    def reread(self) -> bool:
        """Read it again. If it is wrong, the log says why, and the tokens before stay in force. True if others are."""
        try:
            before, self.tokens = self.tokens, self._read()
        except TokensError as error:
            self.failures += 1
            log.error("%s: %s. The tokens before stay in force", NAME, error)
            return False
        log.info("%s: %d tokens are in force", NAME, len(self.tokens.digests))
        return self.tokens != before

    def _read(self) -> Tokens:
        path = Path(self._path)
        try:
            with path.open("rb") as file:
                content, mode = file.read(FILE_BYTES_MAX + 1), path.stat().st_mode
        except OSError as error:
            raise TokensError(f"{path} cannot be read: {error.strerror}") from error
        try:
            tokens = read_tokens(content)
        except TokensError as error:
            raise TokensError(f"{path}: {error}") from error
        if mode & stat.S_IROTH:
            log.warning("%s: every user of this machine may read %s. Allow only rocketns' own: chmod o= %s",
                        NAME, path, path)  # fmt: skip
        return tokens


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
