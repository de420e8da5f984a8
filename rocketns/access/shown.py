"""What records and log lines show of a request's fields: the first ones, cut, without what must stay secret."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from rocketns.config.properties import is_secret
from rocketns.routeinfo.events import Fields

# Fields of a request that are recorded, in their order.
FIELDS_MAX = 10
# Characters of a name or a value of a field.
TEXT_CHARS_MAX = 200
# A signature could be sent again, and the access key has a column of its own.
LEFT_OUT = frozenset({"accesskey", "signature", "securitytoken"})


def shown_fields(ext_fields: Mapping[str, str | None] | None) -> Fields:
    """The first fields of a request, cut, without what must stay secret.

    Of a KV item whose key says that it is a password, the value is left out.
    """
    fields = ext_fields or {}
    hides_value = is_secret(fields.get("key") or "")
    shown = (
        (name, value) for name, value in fields.items()
        if not (name.lower() in LEFT_OUT or is_secret(name) or (hides_value and name == "value"))
    )  # fmt: skip
    return tuple((short(name), short(value or "")) for name, value in islice(shown, FIELDS_MAX))


def short(text: str) -> str:
    """A name or a value of a field."""
    return cut(text, TEXT_CHARS_MAX) or ""


def cut(text: str | None, most: int) -> str | None:
    """The first characters of a text, and how many it has."""
    return text if text is None or len(text) <= most else f"{text[:most]}… (cut, {len(text)} characters)"
