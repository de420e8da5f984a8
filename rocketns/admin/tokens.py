"""Bearer tokens of the management port: the class of each path, the file of tokens, and who is refused.

Which class of token a path needs is in the only table of it. With a path without a row the server does not start: see
`rocketns/admin/server.py`. Who may ask is decided by the head of a request, before anything is made for it.
"""

from __future__ import annotations

import hashlib
import logging
import re
import stat
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path

from rocketns.access.policy_values import PolicyError, ReadFile
from rocketns.logs import LogLimiter
from rocketns.server.following import FollowedFile
from rocketns.server.http.connections import HttpGate
from rocketns.server.http.heads import refused
from rocketns.server.http.secured import TlsPort

# The page itself holds no data. It asks for a token, and sends it with what it asks for.
OPEN = None
# No percent sign: nothing is decoded, so a path has one spelling.
PATH_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
FILE_BYTES_MAX = 64 * 1024
TOKENS_MAX = 64
# b64token of RFC 6750. Shorter ones can be guessed.
TOKEN_CHARACTERS_MIN, TOKEN_CHARACTERS_MAX = 16, 512
TOKEN = re.compile(rf"[A-Za-z0-9._~+/-]{{{TOKEN_CHARACTERS_MIN},{TOKEN_CHARACTERS_MAX}}}=*")
DIGEST = re.compile(r"sha256:([0-9a-fA-F]{64})")
ANYONE = "anyone"
LOG_INTERVAL_S = 10.0
AUTHORIZATION = b"authorization"
SCHEME = b"bearer"
REALM = b'WWW-Authenticate: Bearer realm="rocketns"\r\n'
NOT_FOUND = refused(HTTPStatus.NOT_FOUND, "404: Not Found")

log = logging.getLogger("rocketns.admin")


class TokenClass(StrEnum):
    """What a token is good for."""

    PROBE = "probe"
    SCRAPE = "scrape"
    READ = "read"
    DRAIN = "drain"


# A row that ends with * has all paths of its folder, without folders in it.
PATHS: Mapping[str, TokenClass | None] = {
    "/livez": TokenClass.PROBE,
    "/readyz": TokenClass.PROBE,
    "/metrics": TokenClass.SCRAPE,
    "/api/v1/*": TokenClass.READ,
    "/drainz": TokenClass.DRAIN,
    "/": OPEN,
    "/page/*": OPEN,
}


class UnclassedPath(Exception):
    """The path has no row in `PATHS`."""


def class_of(path: str) -> TokenClass | None:
    """The class of token that a path needs, `OPEN` if none. UnclassedPath if there is no such path."""
    if path in PATHS and not path.endswith("*"):
        return PATHS[path]
    folder, _, name = path.rpartition("/")
    row = f"{folder}/*"
    if row not in PATHS or not PATH_NAME.fullmatch(name):
        raise UnclassedPath(f"{path} has no class in rocketns/admin/tokens.py")
    return PATHS[row]


Classes = frozenset[TokenClass]
NOTHING: Classes = frozenset()


@dataclass(frozen=True, slots=True)
class Tokens:
    """The classes by digest, and those that need no token."""

    digests: Mapping[bytes, Classes] = field(repr=False)
    anyone: Classes

    def classes_of(self, token: bytes) -> Classes:
        """What this token is good for; nothing if it is unknown. The time to find a digest says nothing of tokens."""
        return self.digests.get(hashlib.sha256(token).digest(), NOTHING)


def read_tokens(file: str, text: str) -> Tokens:
    """The tokens of a file. PolicyError with line and reason if any line is wrong, or there is no token."""
    if not text.endswith("\n"):  # half of a token is one that is easier to guess
        raise PolicyError(file, 0, "its last line has no end, so it may be half written: end the line")
    found: dict[bytes | None, Classes] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):  # a comment may be in any language
            continue
        try:
            classes, digest = _read_line(line)
        except ValueError as error:
            raise PolicyError(file, number, str(error)) from None
        found[digest] = found.get(digest, NOTHING) | classes
    anyone = found.pop(None, NOTHING)
    digests = {digest: classes for digest, classes in found.items() if digest is not None}
    if not digests:
        raise PolicyError(file, 0, "it has no token")  # it may be half written
    if len(digests) > TOKENS_MAX:
        raise PolicyError(file, 0, f"it has {len(digests)} tokens, and at most {TOKENS_MAX} are allowed")
    return Tokens(digests, anyone)


def _read_line(line: str) -> tuple[Classes, bytes | None]:
    """The classes of a line, and the digest of its token; None if they need none. ValueError says what is wrong, and
    shows none of its words: one of them may be a token.
    """
    if not line.isascii():
        raise ValueError("only ASCII characters are allowed")
    *words, token = line.split()
    listed = ", ".join(TokenClass)
    if not words:
        raise ValueError(f"classes ({listed}) and a token are expected")
    for number, word in enumerate(words, 1):
        if word not in list(TokenClass):
            raise ValueError(f"word {number} is none of the classes {listed}; the token is the last word")
    classes = frozenset(map(TokenClass, words))
    if token == ANYONE:
        return classes, None
    if (digest := DIGEST.fullmatch(token)) is not None:
        return classes, bytes.fromhex(digest[1])
    if not TOKEN.fullmatch(token):
        raise ValueError(f"the token must have {TOKEN_CHARACTERS_MIN} to {TOKEN_CHARACTERS_MAX} letters, digits or "
                         "characters of ._~+/-, and may end with =")  # fmt: skip
    return classes, hashlib.sha256(token.encode()).digest()


class TokenRefusal(StrEnum):
    """Why a request is refused; also a label's values."""

    NO_TOKEN = "no_token"
    WRONG_TOKEN = "wrong_token"
    WRONG_CLASS = "wrong_class"


SAYS = {
    TokenRefusal.NO_TOKEN: "it has no token",
    TokenRefusal.WRONG_TOKEN: "its token is not in rocketns.adminTokensFile",
    TokenRefusal.WRONG_CLASS: "its token lacks the class",
}


class TokenAccess(FollowedFile[Tokens]):
    """``tokens`` are those in force; ``refused`` counts requests by reason. ``when_changed`` is called when others come
    into force.

    Made by control; its methods are for the loop of the management port, but `reread`.
    """

    content, property_name, bytes_max = "the list of tokens", "adminTokensFile", FILE_BYTES_MAX

    def __init__(self, path: str) -> None:
        """StartupError if the file cannot be read, or is wrong."""
        super().__init__(path)
        self.tokens = Tokens({}, NOTHING)
        self.refused: Counter[TokenRefusal] = Counter()
        self.when_changed: Callable[[], None] = lambda: None
        self._lines = LogLimiter(LOG_INTERVAL_S)
        self.read_first()

    def parse(self, path: str, text: str, _: ReadFile) -> Tokens:
        if Path(path).stat().st_mode & stat.S_IROTH:
            log.warning("every user of this machine may read %s. Allow only rocketns' own: chmod o= %s", path, path)
        return read_tokens(path, text)

    def use(self, tokens: Tokens) -> None:
        before, self.tokens = self.tokens, tokens
        log.info("management port: %d tokens are in force", len(tokens.digests))
        if tokens != before:
            self.when_changed()

    def objection(self, head: bytes, peer: str, now_s: float) -> bytes | None:
        """The answer to a request without the right token, after which its connection is closed; None if it may ask.

        ``head`` is one that `rocketns.server.http.heads.refusal` lets pass.
        """
        line, *fields = head.split(b"\r\n")
        path = line.split(b" ", 2)[1].partition(b"?")[0].decode("ascii")
        token, tokens = _token(fields), self.tokens
        classes = NOTHING if token is None else tokens.classes_of(token)
        try:
            needed = class_of(path)
        except UnclassedPath:  # also another spelling. Only who has a token is told that there is no such path
            if classes:
                return NOT_FOUND
            needed, path = None, "a path that does not exist"
        else:
            if needed is OPEN or needed in tokens.anyone | classes:
                return None
        refusal = TokenRefusal.WRONG_CLASS if classes else TokenRefusal.WRONG_TOKEN
        return self._refuse(TokenRefusal.NO_TOKEN if token is None else refusal, needed, path, peer, now_s)

    def _refuse(self, reason: TokenRefusal, needed: TokenClass | None, path: str, peer: str, now_s: float) -> bytes:
        self.refused[reason] += 1
        if count := self._lines.due(now_s):
            log.warning("management port: refused a request of %s for %s: %s%s. Refused since the last such line: %d",
                        peer, path, SAYS[reason], f" (class {needed})" if needed else "", count)  # fmt: skip
        what = "a token" if needed is None else f"a token of the class {needed}"
        text = f"this path needs {what}: send the header Authorization: Bearer TOKEN"
        lacks_class = reason is TokenRefusal.WRONG_CLASS
        return refused(HTTPStatus.FORBIDDEN if lacks_class else HTTPStatus.UNAUTHORIZED, text, REALM)


def _token(fields: list[bytes]) -> bytes | None:
    """The bearer token of a request; None if it has none. Of two Authorization fields neither counts."""
    found = [value for name, _, value in (field.partition(b":") for field in fields) if name.lower() == AUTHORIZATION]
    if len(found) != 1:
        return None
    scheme, _, token = found[0].strip().partition(b" ")
    return token.strip() if scheme.lower() == SCHEME else None


class AdminGate(HttpGate):
    """The connections of the management port. ``access``: which tokens there are; None if nobody needs one. ``tls``:
    None without TLS.
    """

    def __init__(self, access: TokenAccess | None = None, tls: TlsPort | None = None) -> None:
        super().__init__(None if access is None else access.objection)
        self.access, self.tls = access, tls
