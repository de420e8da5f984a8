"""KV items and properties that a name server showed."""

from __future__ import annotations

from collections.abc import Mapping

from rocketns.collect.observed.bounds import Bounds
from rocketns.config.properties import of_lines
from rocketns.protocol.names import utf8_bytes
from rocketns.routeinfo.events import ConfigChanged, Event, KvChanged

# A Java name server has about 70, and each has some characters.
PROPERTIES_MAX = 1_000
PROPERTY_BYTES_MAX = 64 * 1024


class Settings:
    """``kv``: items by namespace. ``properties``: the configuration."""

    def __init__(self, bounds: Bounds) -> None:
        self.kv: dict[str, dict[str, str]] = {}
        self.properties: dict[str, str] = {}
        self._bounds = bounds
        self._kv_bytes: dict[str, int] = {}

    def read_kv(self, namespace: str, items: Mapping[str, str]) -> list[Event]:
        """All items of a namespace; those that are known are kept where there are too many."""
        former, kept = self.kv.get(namespace, {}), self._kept(namespace, items)
        if kept:
            self.kv[namespace] = kept
        else:
            self.kv.pop(namespace, None)
        gone = [KvChanged(namespace, key, None) for key in former if key not in kept]
        return [*gone, *(KvChanged(namespace, key, text) for key, text in kept.items() if former.get(key) != text)]

    def _kept(self, namespace: str, items: Mapping[str, str]) -> dict[str, str]:
        limits, former = self._bounds.limits, self.kv.get(namespace, {})
        size = 0
        room = limits.kv_bytes_max - sum(more for name, more in self._kv_bytes.items() if name != namespace)
        kept = {}
        for key, text in sorted(items.items(), key=lambda one: one[0] not in former):
            more = utf8_bytes(key) + utf8_bytes(text)
            fits = self._bounds.fits(key) and utf8_bytes(text) <= limits.kv_value_bytes_max
            if self._bounds.takes(fits=fits and size + more <= room):
                kept[key] = text
                size += more
        self._kv_bytes[namespace] = size
        return kept

    def read_properties(self, text: str) -> list[Event]:
        """All properties, as lines ``key=value``. One that is gone has no value."""
        former, found = self.properties, of_lines(text)
        self.properties = {}
        for key, value in found.items():
            fits = self._bounds.fits(key) and utf8_bytes(value) <= PROPERTY_BYTES_MAX
            if self._bounds.takes(fits=fits and len(self.properties) < PROPERTIES_MAX):
                self.properties[key] = value
        gone = [ConfigChanged(key, "") for key in former if key not in self.properties]
        return [*gone, *(ConfigChanged(key, value) for key, value in self.properties.items()
                         if former.get(key) != value)]  # fmt: skip
