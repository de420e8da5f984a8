"""All properties of a running server together: read, shown, changed, written back (Java: Configuration)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

from rocketns.config import properties, refused
from rocketns.config.journal import JournalConfig
from rocketns.config.limits import PREFIX, Limits
from rocketns.config.namesrv import NamesrvConfig
from rocketns.config.netty import NettyServerConfig
from rocketns.config.properties import Effect
from rocketns.config.tls import TlsConfig
from rocketns.errors import RequestError, StartupError
from rocketns.javatext import trim

log = logging.getLogger("rocketns.config")

REREAD = (Effect.LIVE, Effect.CONNECTION)  # at SIGHUP
SERIALIZE_TYPES = ("JSON", "ROCKETMQ")
CONTROLLER_REFUSED = (
    "enableControllerInNamesrv=true asks for a DLedger controller in this process, which rocketns is not: run "
    "RocketMQ's own controller (bin/mqcontroller -c conf/controller.conf), give brokers its address as controllerAddr, "
    "and take the property out of this file"
)


class Configuration:
    """The configuration objects, and every other key of the start-up file, which Java keeps and shows too."""

    def __init__(self, namesrv: NamesrvConfig, netty: NettyServerConfig, limits: Limits | None = None) -> None:
        self.namesrv = namesrv
        self.netty = netty
        self.limits = limits or Limits()
        self.journal = JournalConfig()
        self.extra: dict[str, str] = {}
        self._given: dict[str, str] = {}
        self._withheld = refused.Withheld()
        self._file: str | None = None
        self._system: dict[str, str] = {}
        self.serialize_type = "JSON"
        self.product_name_servers: list[str] = []
        self._black_list = self._read_black_list()

    @classmethod
    def build(
        cls, config_file: str | None = None, *, home: Path, system: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Configuration:  # fmt: skip
        """Defaults, then the file. ``home`` stands for Java's user.home, ``system`` for its system properties.

        StartupError if the file cannot be read, has a number that is out of its bounds, or asks for what rocketns is
        not. Without a file none is read, not even an existing default one.
        """
        system, environment = system or {}, environment or {}
        namesrv = NamesrvConfig(
            rocketmq_home=system.get("rocketmq.home.dir") or environment.get("ROCKETMQ_HOME"),
            kv_config_path=str(home / "namesrv" / "kvConfig.json"),
            config_store_path=str(home / "namesrv" / "namesrv.properties"),
        )
        configuration = cls(namesrv, NettyServerConfig())
        given = _read(config_file) if config_file is not None else {}
        configuration._take(given, system, environment)
        if config_file is not None:
            namesrv.config_store_path = configuration._file = config_file
        return configuration

    def _take(self, given: Mapping[str, str], system: Mapping[str, str], environment: Mapping[str, str]) -> None:
        for config in (self.namesrv, self.netty):
            properties.update(config, given)
            properties.check(config)
        self.limits.update(given, system)
        properties.update_own(self.journal, given)
        self.journal.check()
        known = self._declared()
        self.extra = {key: text for key, text in given.items() if key not in known}
        self._given = dict(given)
        self._system = dict(system)
        self.serialize_type = _serialize_type(system, environment)
        self.product_name_servers = _product_name_servers(system, environment)
        if self.namesrv.enable_controller_in_namesrv:
            raise StartupError(CONTROLLER_REFUSED)
        self._black_list = self._read_black_list()

    def read_tls(self) -> TlsConfig:
        """The TLS properties; their own file is read anew at every call."""
        return TlsConfig.read(self._system, self._given)

    def _declared(self) -> dict[str, Field[Any]]:
        return properties.declared(self.namesrv) | properties.declared(self.netty)

    def _own_names(self) -> set[str]:
        return {PREFIX + name for name in properties.declared(self.limits)} | set(properties.declared(self.journal))

    def _read_black_list(self) -> frozenset[str]:
        return frozenset(refused.BLACK_LIST) | frozenset(self.namesrv.config_black_list.split(";"))

    def items(self) -> dict[str, str]:
        """Every property as text, sorted by key; those without a value are left out."""
        merged = self.extra | properties.items(self.namesrv) | properties.items(self.netty)
        return dict(sorted(merged.items()))

    def text(self) -> str:
        """What request 319 answers: ``key=value`` lines, unescaped as Java's."""
        return "".join(f"{key}={value}\n" for key, value in self.items().items())

    def reread(self) -> dict[str, str]:
        """Take from the start-up file what is not felt at start only; what was changed. Nothing if it is not readable.

        A number that may not be kept in the file by request 318 is the operator's to write there.
        """
        if self._file is None:
            return {}
        try:
            given = _read(self._file)
        except StartupError as error:
            log.error("the configuration stays as it is: %s", error)
            return {}
        before = self.items()
        self._given = given
        for config in (self.namesrv, self.netty):
            names = {name for name, one in properties.declared(config).items() if one.metadata["effect"] in REREAD}
            properties.update(config, {name: text for name, text in given.items() if name in names})
            self._withheld.forget(names & given.keys())
        return {key: text for key, text in self.items().items() if before.get(key) != text}

    def file_content(self) -> bytes:
        """What the next start is to read: everything that is shown, but of what request 318 set only what it may."""
        return properties.dump(self.items() | self._withheld.texts)

    def withheld(self) -> list[str]:
        """The properties whose values are shown but not written to the file."""
        return sorted(self._withheld.texts)

    def update(self, body: bytes) -> dict[str, str]:
        """Apply the properties text of request 318; what was changed. RequestError where all of it is refused.

        Unknown keys and values that do not parse are dropped silently, as Java does.
        """
        given = _parse_update(body)
        refused.refuse_names(set(given), self._black_list)
        refused.refuse_control_characters(self._texts_of(given))
        before = self.items()
        for config in (self.namesrv, self.netty):
            properties.update(config, given)
            self._withheld.sort_out(properties.declared(config), before, config)
        self.extra |= {key: text for key, text in given.items() if key in self.extra}
        return {key: text for key, text in self.items().items() if before.get(key) != text}

    def _texts_of(self, given: Mapping[str, str]) -> dict[str, str]:
        """Those that will be kept as texts, as they will be."""
        declared = self._declared()
        texts = {name: trim(given[name]) for name in given if name in declared and declared[name].type == "str"}
        return texts | {name: text for name, text in given.items() if name in self.extra}

    def passed_over(self) -> list[str]:
        """What the start-up file has that has no effect or another one than it seems, a sentence each."""
        declared, own = self._declared(), self._own_names()
        known = {name.lower(): name for name in {*declared, *own}}
        found = []
        for name, text in self._given.items():
            if name in declared:
                found += _misread(name, text, declared[name])
            elif name not in own and name.lower() in known:
                found.append(f"{name} has no effect: the property is called {known[name.lower()]}")
            elif name not in own and name.startswith(PREFIX):
                found.append(f"{name} has no effect: rocketns has no such property")
        return found

    def unused(self) -> dict[str, str]:
        """The properties of the start-up file that rocketns accepts but does not use, with what they are for."""
        return {
            name: declaration.metadata["doc"]
            for name, declaration in self._declared().items()
            if name in self._given and declaration.metadata["effect"] is Effect.UNUSED
        }


def _serialize_type(system: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """RemotingCommand's static block: the property, then the environment; an unknown name stops the start."""
    text = system.get("rocketmq.serialize.type", environment.get("ROCKETMQ_SERIALIZE_TYPE", ""))
    if not text.strip():
        return "JSON"
    if text not in SERIALIZE_TYPES:
        raise StartupError(f"rocketmq.serialize.type is {text}, but must be one of {', '.join(SERIALIZE_TYPES)}")
    return text


def _product_name_servers(system: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """NameServerAddressUtils.getNameServerAddresses, for the cluster-test mode."""
    text = system.get("rocketmq.namesrv.addr", environment.get("NAMESRV_ADDR", ""))
    return [addr.strip() for addr in text.split(";") if addr.strip()]


def _parse_update(body: bytes) -> dict[str, str]:
    refused.refuse_size(body)
    try:
        return properties.load(body.decode("utf-8", "replace").encode("utf-8"))
    except ValueError as error:
        raise RequestError("string2Properties error") from error


def _misread(name: str, text: str, declaration: Field[Any]) -> list[str]:
    if declaration.type == "bool" and not properties.is_boolean(text):
        return [f"{name}={text} counts as false"]
    if properties.parse(declaration, text) is None:
        default = properties.show(declaration.default)
        return [f"{name}={text} has no effect: it is not {properties.expected(declaration)}. {default} is used"]
    return []


def _read(config_file: str) -> dict[str, str]:
    try:
        return properties.load(Path(config_file).read_bytes())
    except OSError as error:
        raise StartupError(f"Cannot read the configuration file {config_file}: {error.strerror}") from error
    except ValueError as error:
        raise StartupError(f"The configuration file {config_file} is no Java properties file: {error}") from error
