"""Who may ask for which path: decided by the head of a request, before anything is made for it."""

from __future__ import annotations

import logging
from collections import Counter
from enum import StrEnum
from http import HTTPStatus

from rocketns.admin.tokens.classes import OPEN, TokenClass, UnclassedPath, class_of
from rocketns.admin.tokens.file import TokenFile
from rocketns.logtext import LogLimiter
from rocketns.server.http.heads import refused

log = logging.getLogger("rocketns.admin")

LOG_INTERVAL_S = 10.0
AUTHORIZATION = b"authorization"
SCHEME = b"bearer"
REALM = b'WWW-Authenticate: Bearer realm="rocketns"'
NOT_FOUND = refused(HTTPStatus.NOT_FOUND, "404: Not Found")


class Reason(StrEnum):
    """Why a request is refused; also a label's values."""

    NO_TOKEN = "no_token"
    WRONG_TOKEN = "wrong_token"
    WRONG_CLASS = "wrong_class"


SAYS = {
    Reason.NO_TOKEN: "it has no token",
    Reason.WRONG_TOKEN: "its token is not in rocketns.adminTokensFile",
    Reason.WRONG_CLASS: "its token lacks the class",
}


class Access:
    """``refused`` counts by reason. Its methods are for the loop of the management port."""

    def __init__(self, file: TokenFile) -> None:
        self.file = file
        self.refused: Counter[Reason] = Counter()
        self._lines = LogLimiter(LOG_INTERVAL_S)

    def objection(self, head: bytes, peer: str, now_s: float) -> bytes | None:
        """The answer to a request without the right token, after which its connection is closed; None if it may ask.

        ``head`` is one that `rocketns.server.http.heads.refusal` lets pass.
        """
        line, *fields = head.split(b"\r\n")
        path = line.split(b" ", 2)[1].partition(b"?")[0].decode("ascii")
        try:
            needed = class_of(path)
        except UnclassedPath:
            return self._objection_to_unknown(fields, peer, now_s)
        tokens = self.file.tokens
        if needed is OPEN or needed in tokens.anyone:
            return None
        token = _token(fields)
        if token is None:
            return self._refuse(Reason.NO_TOKEN, needed, path, peer, now_s)
        classes = tokens.classes_of(token)
        if needed in classes:
            return None
        return self._refuse(Reason.WRONG_CLASS if classes else Reason.WRONG_TOKEN, needed, path, peer, now_s)

    def _objection_to_unknown(self, fields: list[bytes], peer: str, now_s: float) -> bytes:
        """To other spellings of a path, too. Only who has a token is told that there is no such path."""
        token = _token(fields)
        if token is not None and self.file.tokens.classes_of(token):
            return NOT_FOUND
        reason = Reason.NO_TOKEN if token is None else Reason.WRONG_TOKEN
        return self._refuse(reason, None, "a path that does not exist", peer, now_s)

    def _refuse(self, reason: Reason, needed: TokenClass | None, path: str, peer: str, now_s: float) -> bytes:
        self.refused[reason] += 1
        self._log(reason, needed, path, peer, now_s)
        what = "a token" if needed is None else f"a token of the class {needed}"
        text = f"this path needs {what}: send the header Authorization: Bearer TOKEN"
        if reason is Reason.WRONG_CLASS:
            scope = f', error="insufficient_scope", scope="{needed}"\r\n'.encode()
            return refused(HTTPStatus.FORBIDDEN, text, REALM + scope)
        error = b', error="invalid_token"\r\n' if reason is Reason.WRONG_TOKEN else b"\r\n"
        return refused(HTTPStatus.UNAUTHORIZED, text, REALM + error)

    def _log(self, reason: Reason, needed: TokenClass | None, path: str, peer: str, now_s: float) -> None:
        if count := self._lines.due(now_s):
            log.warning("management port: refused a request of %s for %s: %s%s. Refused since the last such line: %d",
                        peer, path, SAYS[reason], f" (class {needed})" if needed else "", count)  # fmt: skip


def _token(fields: list[bytes]) -> bytes | None:
    """The bearer token of a request; None if it has none. Of two Authorization fields neither counts."""
    found = [value for name, _, value in (field.partition(b":") for field in fields) if name.lower() == AUTHORIZATION]
    if len(found) != 1:
        return None
    scheme, _, token = found[0].strip().partition(b" ")
    return token.strip() if scheme.lower() == SCHEME else None
