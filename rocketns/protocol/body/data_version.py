"""DataVersion from JSON: the body of QUERY_DATA_VERSION, and a part of every registration."""

from __future__ import annotations

from typing import Any

from rocketns.protocol.body.refusals import java_errors
from rocketns.protocol.body.route import DataVersion
from rocketns.protocol.json import fastjson


def decode_data_version(body: bytes | None, now_ms: int) -> DataVersion | None:
    """DataVersion.decode: None for no body and for ``null``. ``now_ms`` as in `data_version_from_json`."""
    with java_errors():
        return data_version_from_json(fastjson.loads(body), now_ms) if body else None


def data_version_from_json(value: Any, now_ms: int) -> DataVersion | None:
    """DataVersion from its JSON value. ``now_ms`` (epoch) stands in for a missing timestamp."""
    fields = fastjson.as_object(value)
    if fields is None:
        return None
    counter = fields.get("counter", 0)
    return DataVersion(
        fastjson.as_long(fields.get("stateVersion")),
        fastjson.as_long(fields["timestamp"]) if "timestamp" in fields else now_ms,
        None if counter is None else fastjson.as_long(counter),
    )
