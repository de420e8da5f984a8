"""KVConfigManager: namespaces of strings, and the JSON file that they survive a restart in."""

from __future__ import annotations

import logging
from pathlib import Path

from rocketns import files
from rocketns.errors import BodyDecodeError, StartupError
from rocketns.protocol import fastjson

log = logging.getLogger("rocketns.kvconfig")

Table = dict[str, str | None]


class KVConfigManager:
    """``namespace → key → value``. A value may be None: Java stores it, and then finds nothing under the key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_table: dict[str, Table] = {}

    def load(self) -> None:
        """Read the file. Absent or empty is fine; anything else that is no KV file is a StartupError."""
        try:
            content = self.path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StartupError(f"Cannot read the KV configuration {self.path}: {error.strerror}") from error
        if content:
            self.config_table = self._parse(content)
            log.info("load KV config table OK")

    def _parse(self, content: bytes) -> dict[str, Table]:
        try:
            whole = fastjson.as_object(fastjson.loads(content)) or {}
            namespaces = fastjson.as_object(whole.get("configTable"))
            if namespaces is None:
                raise BodyDecodeError("it has no configTable")
            return {name: self._parse_table(table) for name, table in namespaces.items()}
        except BodyDecodeError as error:
            raise StartupError(
                f"The KV configuration {self.path} is damaged: {error.remark}. "
                f"Repair it, put {self.path}.bak in its place, or move it away to start with an empty one."
            ) from error

    def _parse_table(self, value: object) -> Table:
        table = fastjson.as_object(value) or {}
        return {key: fastjson.as_text(text) for key, text in table.items()}

    def put(self, namespace: str, key: str, value: str | None) -> None:
        """putKVConfig; the whole table is written to the file."""
        table = self.config_table.get(namespace)
        if table is None:
            table = self.config_table[namespace] = {}
            log.info("putKVConfig create new Namespace %s", namespace)
        kind = "create new" if table.get(key) is None else "update"
        table[key] = value
        log.info("putKVConfig %s config item, Namespace: %s Key: %s Value: %s", kind, namespace, key, value)
        self.persist()

    def delete(self, namespace: str | None, key: str | None) -> None:
        """deleteKVConfig: also for what is not there; a namespace stays when its last key goes."""
        table = None if namespace is None else self.config_table.get(namespace)
        if table is not None and key is not None:
            value = table.pop(key, None)
            log.info("deleteKVConfig delete a config item, Namespace: %s Key: %s Value: %s", namespace, key, value)
        self.persist()

    def get(self, namespace: str | None, key: str | None) -> str | None:
        """One value, None where namespace or key is missing."""
        table = self.namespace(namespace)
        return None if table is None or key is None else table.get(key)

    def namespace(self, namespace: str | None) -> Table | None:
        """All keys of a namespace, None where there is none."""
        return None if namespace is None else self.config_table.get(namespace)

    def persist(self) -> None:
        """Write the file, its previous content to ``.bak``. A failure is logged only, as in Java."""
        present = {
            name: {key: value for key, value in table.items() if value is not None}
            for name, table in self.config_table.items()
        }
        try:
            files.replace_with_backup(self.path, fastjson.dumps({"configTable": present}))
        except OSError as error:
            log.error("persist kvconfig Exception, %s: %s", self.path, error)

    def print_all(self) -> None:
        """printAllPeriodically: every item as a log line."""
        log.info("--------------------------------------------------------")
        log.info("configTable SIZE: %d", len(self.config_table))
        for namespace, table in self.config_table.items():
            for key, value in table.items():
                log.info("configTable NS: %s Key: %s Value: %s", namespace, key, value)
