"""What request 318 may not do: any peer can send it, so it must not decide how, or whether, the server starts again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from rocketns.config import properties
from rocketns.config.journal import JournalConfig
from rocketns.config.limits import PREFIX
from rocketns.errors import NoPermission, RequestError

# All of 5.5.0's properties with their values are 2 KB, and the parser's time grows with the square of what is
# continued over many lines.
TEXT_BYTES_MAX = 64 * 1024
# Java's list is the first four; where files are written is the operator's decision.
BLACK_LIST = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
OPERATORS_PREFIXES = (PREFIX, "tls.")
# A raw UTF-8 text, which Java reads as Latin-1, has characters from U+0080 to U+009F: these stay allowed, as the tab.
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


def refuse_size(body: bytes) -> None:
    """RequestError for a text too large to parse in a moment."""
    if len(body) > TEXT_BYTES_MAX:
        raise RequestError(f"Can not update config, the text has more than {TEXT_BYTES_MAX} bytes.")


def refuse_names(names: set[str], black_list: frozenset[str]) -> None:
    """NoPermission where one of them is for the operator to set, in the file."""
    if names & black_list or any(map(_is_operators, names)):
        raise NoPermission("Can not update config in black list.")


def _is_operators(name: str) -> bool:
    return name.startswith(OPERATORS_PREFIXES) or name in properties.declared(JournalConfig)


def refuse_control_characters(texts: Mapping[str, str]) -> None:
    """RequestError for a value that would look like several lines where it is shown."""
    for name, text in texts.items():
        if CONTROL_CHARACTER.search(text):
            raise RequestError(f"Can not update config, the value of {name} has a control character.")


class Withheld:
    """Values that request 318 set and that do not reach the file, with the texts that stay there instead."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def forget(self, names: set[str]) -> None:
        """The operator has set these in the file."""
        for name in names:
            self.texts.pop(name, None)

    def sort_out(self, declared: Mapping[str, Field[Any]], before: Mapping[str, str], config: Any) -> None:
        """After an update of ``config``: which of its values the file may have. ``before`` was shown until now."""
        for name, declaration in declared.items():
            value = getattr(config, declaration.name)
            text = properties.show(value)
            if text == self.texts.get(name, before.get(name)) or properties.may_keep(declaration, value):
                self.texts.pop(name, None)
            elif name in before:
                self.texts.setdefault(name, before[name])
