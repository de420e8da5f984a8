"""The limits of request 318. Any peer can send it, so it must not decide how, or whether, the server starts again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from rocketns.config import properties
from rocketns.config.properties import PREFIX
from rocketns.config.sections import OWN_NAMES
from rocketns.errors import NoPermission, RequestError

# All properties of 5.5.0 with their values are 2 KB. The parser's time grows with the square of a value that is
# continued over many lines.
TEXT_BYTES_MAX = 64 * 1024
# Java's own black list. It holds even if configBlackList is empty.
BLACK_LIST = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")
OPERATORS_PREFIXES = (PREFIX, "tls.")
# The tab is allowed, and so is U+0080 to U+009F: Java reads UTF-8 text as Latin-1, which gives such characters.
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0a-\x1f\x7f]")


def refuse_size(body: bytes) -> None:
    """RequestError for a text that would take long to parse."""
    if len(body) > TEXT_BYTES_MAX:
        raise RequestError(f"Can not update config, the text has more than {TEXT_BYTES_MAX} bytes.")


def refuse_names(names: set[str], black_list: frozenset[str]) -> None:
    """NoPermission if only the operator may set one of them, in the file."""
    if names & black_list or any(map(_is_operators, names)):
        raise NoPermission("Can not update config in black list.")


def _is_operators(name: str) -> bool:
    return name.startswith(OPERATORS_PREFIXES) or name in OWN_NAMES


def refuse_control_characters(texts: Mapping[str, str]) -> None:
    """RequestError for a value that would be shown as several lines."""
    for name, text in texts.items():
        if CONTROL_CHARACTER.search(text):
            raise RequestError(f"Can not update config, the value of {name} has a control character.")


class Withheld:
    """The properties that request 318 changed and may not write to the file, with the texts that the file keeps."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def forget(self, names: set[str]) -> None:
        """The operator has set these in the file: write their values from now on."""
        for name in names:
            self.texts.pop(name, None)

    def sort_out(self, declared: Mapping[str, Field[Any]], before: Mapping[str, str], config: Any) -> None:
        """Decide, after an update of ``config``, which values the file may get. ``before`` has the texts before it."""
        for name, declaration in declared.items():
            value = getattr(config, declaration.name)
            text = properties.show(value)
            if text == self.texts.get(name, before.get(name)) or properties.may_keep(declaration, value):
                self.texts.pop(name, None)
            elif name in before:
                self.texts.setdefault(name, before[name])
