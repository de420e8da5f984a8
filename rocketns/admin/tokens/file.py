"""The file of tokens while the server runs: read again when it changes; if it is wrong, the tokens before stay."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

from rocketns.admin.tokens.reading import FILE_BYTES_MAX, Tokens, TokensError, read_tokens
from rocketns.config.properties import PREFIX
from rocketns.errors import StartupError
from rocketns.server.following import Followed

log = logging.getLogger("rocketns.admin")

NAME = f"{PREFIX}adminTokensFile"


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
