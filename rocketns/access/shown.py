"""What records and log lines show of a request's fields: the first ones, cut, without what must stay secret."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice

from rocketns.config.properties import is_secret
from rocketns.routeinfo.events import Fields

# Rules name them, so they come first: a peer may send any number of other fields before them.
SHOWN_FIRST = ("holder", "brokerName", "brokerAddr", "brokerId", "clusterName", "topic", "namespace", "key")
# Fields of a request that are recorded. A registration of a 5.x broker in a zone has 11.
FIELDS_MAX = 16
# Characters of a name or a value of a field.
TEXT_CHARS_MAX = 200
# A signature could be sent again, and the access key has a column of its own.
LEFT_OUT = frozenset({"accesskey", "signature", "securitytoken"})


def shown_fields(ext_fields: Mapping[str, str | None] | None) -> Fields:
    """The fields of a request, SHOWN_FIRST first, cut, without what must stay secret.

    Of a KV item whose key says that it is a password, the value is left out.
    """
    fields = ext_fields or {}
    hides_value = is_secret(fields.get("key") or "")
    names = dict.fromkeys(chain((name for name in SHOWN_FIRST if name in fields), fields))
    shown = (
        (name, fields[name]) for name in names
        if not (name.lower() in LEFT_OUT or is_secret(name) or (hides_value and name == "value"))
    )  # fmt: skip
    return tuple((short(name), short(value or "")) for name, value in islice(shown, FIELDS_MAX))


def short(text: str) -> str:
    """A name or a value of a field."""
    return cut(text, TEXT_CHARS_MAX) or ""


def cut(text: str | None, most: int) -> str | None:
    """The first characters of a text, and how many it has."""
    return text if text is None or len(text) <= most else f"{text[:most]}… (cut, {len(text)} characters)"
