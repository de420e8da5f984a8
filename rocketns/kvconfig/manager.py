"""KVConfigManager: a bounded table of namespaces with keys and values, and the JSON file that keeps it."""

from __future__ import annotations

import logging
from itertools import islice
from pathlib import Path

from rocketns.config import Limits
from rocketns.errors import BodyDecodeError, RequestError, StartupError
from rocketns.kvconfig.file import ITEM_BYTES, KvChange, KvFile
from rocketns.protocol.json import fastjson
from rocketns.protocol.names import utf8_bytes

log = logging.getLogger("rocketns.kvconfig.manager")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Limits of the periodic log of all items, so that control is not delayed.
PRINTED_ITEMS_MAX = 500
PRINTED_CHARACTERS_MAX = 1_000

KvTable = dict[str, str | None]


class KVConfigManager:
    """``namespace → key → value``. A value may be None: Java stores it and answers that the key does not exist.

    ``bytes`` is the size that ``rocketns.kvBytesMax`` limits: all texts as UTF-8, and `ITEM_BYTES` for each namespace
    and key. A change takes effect in the table at once. The caller then submits it to the writer of ``file``. Without
    a path the table is in memory alone.
    """

    def __init__(self, path: Path | None, limits: Limits | None = None) -> None:
        self.path = path
        self.file = KvFile(path)
        self.config_table: dict[str, KvTable] = {}
        self.bytes = 0
        self._limits = limits or Limits()

    def load(self) -> None:
        """Read the file. It may be missing or empty. StartupError for any other content that is not a KV file."""
        if self.path is None:
            return
        try:
            content = self.path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StartupError(f"Cannot read the KV configuration {self.path}: {error.strerror}") from error
        if content:
            self.config_table.update(self._parse(content.removeprefix(BYTE_ORDER_MARK)))  # the journal has this table
            self.file.fill(self.config_table)
            self.bytes = sum(_table_bytes(name, table) for name, table in self.config_table.items())
            log.info("load KV config table OK")
        if self.bytes > self._limits.kv_bytes_max:
            log.warning("the KV configuration has %d bytes, over the limit rocketns.kvBytesMax=%d. It is served, but "
                        "changes that make it larger are refused", self.bytes, self._limits.kv_bytes_max)  # fmt: skip

    def _parse(self, content: bytes) -> dict[str, KvTable]:
        try:
            whole = fastjson.as_object(fastjson.loads(content))
            if whole is None:
                return {}  # Java starts with a file that says null
            namespaces = fastjson.as_object(whole.get("configTable"))
            if namespaces is None:
                raise BodyDecodeError("it has no configTable")
            return {name: self._parse_table(table) for name, table in namespaces.items() if table is not None}
        except BodyDecodeError as error:
            raise StartupError(
                f"The KV configuration {self.path} is damaged: {error.remark}. "
                f"Repair it, put {self.path}.bak in its place, or move it away to start with an empty one."
            ) from error

    def _parse_table(self, value: object) -> KvTable:
        table = fastjson.as_object(value) or {}
        return {key: fastjson.as_text(text) for key, text in table.items()}

    def put(self, namespace: str, key: str, value: str | None) -> KvChange:
        """putKVConfig, in memory. RequestError with the name of the limit if it would be exceeded."""
        growth = self._growth(namespace, key, value)
        for what, text in (("namespace", namespace), ("key", key), ("value", value)):
            self._check_text(what, text)
        self._check_growth(growth)
        self.bytes += growth
        table = self.config_table.get(namespace)
        if table is None:
            table = self.config_table[namespace] = {}
            log.info("putKVConfig create new Namespace %s", namespace)
        kind = "create new" if table.get(key) is None else "update"
        table[key] = value
        log.info("putKVConfig %s config item, Namespace: %s Key: %s Value: %s", kind, namespace, key, value)
        return KvChange(namespace, key, value)

    def _growth(self, namespace: str, key: str, value: str | None) -> int:
        table = self.config_table.get(namespace)
        if table is None:
            return _table_bytes(namespace, {key: value})
        return _item_bytes(key, value) - (_item_bytes(key, table[key]) if key in table else 0)

    def _check_text(self, what: str, text: str | None) -> None:
        size, limit = utf8_bytes(text), self._limits.kv_value_bytes_max
        if size > limit:
            raise RequestError(f"the {what} has {size} bytes, more than rocketns.kvValueBytesMax={limit}")

    def _check_growth(self, growth: int) -> None:
        total, bytes_max = self.bytes + growth, self._limits.kv_bytes_max
        if growth > 0 and total > bytes_max:
            raise RequestError(
                f"the KV configuration would have {total} bytes, more than rocketns.kvBytesMax={bytes_max}"
            )

    def delete(self, namespace: str | None, key: str | None) -> KvChange | None:
        """deleteKVConfig, in memory. A missing key is no error; an empty namespace stays."""
        table = None if namespace is None else self.config_table.get(namespace)
        if namespace is None or table is None or key is None:
            return None
        if key in table:
            self.bytes -= _item_bytes(key, table[key])
        value = table.pop(key, None)
        log.info("deleteKVConfig delete a config item, Namespace: %s Key: %s Value: %s", namespace, key, value)
        return KvChange(namespace, key, None)

    def get(self, namespace: str | None, key: str | None) -> str | None:
        """One value; None if the namespace or the key is missing."""
        table = self.namespace(namespace)
        return None if table is None or key is None else table.get(key)

    def namespace(self, namespace: str | None) -> KvTable | None:
        """All keys of a namespace; None if it does not exist."""
        return None if namespace is None else self.config_table.get(namespace)

    def print_all(self) -> None:
        """printAllPeriodically: a log line for each of the first PRINTED_ITEMS_MAX items."""
        log.info("--------------------------------------------------------")
        log.info("configTable SIZE: %d", len(self.config_table))
        items = ((name, key, value) for name, table in self.config_table.items() for key, value in table.items())
        for namespace, key, value in islice(items, PRINTED_ITEMS_MAX):
            shown = None if value is None else value[:PRINTED_CHARACTERS_MAX]
            log.info("configTable NS: %s Key: %s Value: %s", namespace, key, shown)
        count = sum(map(len, self.config_table.values()))
        if count > PRINTED_ITEMS_MAX:
            log.info("configTable has %d more items", count - PRINTED_ITEMS_MAX)


def _item_bytes(key: str, value: str | None) -> int:
    return ITEM_BYTES + utf8_bytes(key) + utf8_bytes(value)


def _table_bytes(namespace: str, table: KvTable) -> int:
    return ITEM_BYTES + utf8_bytes(namespace) + sum(_item_bytes(key, value) for key, value in table.items())
