"""What records and log lines show of a request's fields: the first ones, cut, without what must stay secret."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice

from rocketns.config.properties import is_secret
from rocketns.logs import shortened, written_bytes
from rocketns.routeinfo.events import Fields

# Rules name them, so they come first: a peer may send any number of other fields before them.
SHOWN_FIRST = ("holder", "brokerName", "brokerAddr", "brokerId", "clusterName", "topic", "namespace", "key")
# Fields of a request that are recorded. A registration of a 5.x broker in a zone has 11.
FIELDS_MAX = 16
# Bytes as they are written, escapes included: of a name or a value of a field, and of all fields of a request.
TEXT_BYTES_MAX = 200
FIELDS_BYTES_MAX = 2_000
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
    found, room = [], FIELDS_BYTES_MAX
    for name, value in islice(shown, FIELDS_MAX):
        field = shortened(name, TEXT_BYTES_MAX), shortened(value or "", TEXT_BYTES_MAX)
        room -= fields_bytes((field,))
        if room < 0:
            break
        found.append(field)
    return tuple(found)


def fields_bytes(fields: Fields) -> int:
    """What they take in a record or a log line, at most."""
    return sum(written_bytes(name) + written_bytes(value) for name, value in fields)


def cut(text: str | None, most: int) -> str | None:
    """The first ``most`` bytes of a text as they are written, and how many characters it has."""
    return None if text is None else shortened(text, most)
