"""The exit statuses of the commands, as `diff` of the shell has them: 0 same, 1 different, 2 trouble."""

from __future__ import annotations

EXIT_FOUND = 0
EXIT_DIFFERENT = 1
EXIT_UNREADABLE = 2

_TROUBLE = (EXIT_UNREADABLE, "a name server cannot be read, or a wrong option; the message says which")
EXIT_STATUSES = {
    "get": ((EXIT_FOUND, "printed"), (EXIT_DIFFERENT, "the topic has no route"), _TROUBLE),
    "top": ((EXIT_FOUND, "as many rounds as --rounds were shown"), (EXIT_UNREADABLE, "a wrong option")),
    "completion": ((EXIT_FOUND, "printed"), (EXIT_UNREADABLE, "a wrong option")),
    "diff": ((EXIT_FOUND, "the name servers say the same"), (EXIT_DIFFERENT, "they do not"), _TROUBLE),
}
