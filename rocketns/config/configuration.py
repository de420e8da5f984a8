"""All properties of a running server together: read, shown, changed, written back (Java: Configuration)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

from rocketns.addresses import listed
from rocketns.config import checks, properties, tls
from rocketns.config.address_texts import check_addresses
from rocketns.config.java import NamesrvConfig, NettyServerConfig
from rocketns.config.limits import Limits
from rocketns.config.properties import Effect
from rocketns.config.sections import OwnSections
from rocketns.config.system import IPV4_ONLY
from rocketns.config.tls import TlsConfig
from rocketns.errors import RequestError, StartupError
from rocketns.javatext import parse_boolean, trim

log = logging.getLogger("rocketns.config")

REREAD = (Effect.LIVE, Effect.CONNECTION)  # at SIGHUP
SERIALIZE_TYPES = ("JSON", "ROCKETMQ")
CONTROLLER_REFUSED = (
    "enableControllerInNamesrv=true asks for a DLedger controller in this process, and rocketns has none. Run "
    "RocketMQ's own controller (bin/mqcontroller -c conf/controller.conf), give the brokers its address as "
    "controllerAddr, and remove the property from this file"
)


class Configuration(OwnSections):
    """The configuration objects, and the unknown keys of the start-up file, which are kept and shown as in Java."""

    def __init__(self, namesrv: NamesrvConfig, netty: NettyServerConfig, limits: Limits | None = None) -> None:
        super().__init__()
        self.namesrv = namesrv
        self.netty = netty
        self.limits = limits or self.limits
        self.extra: dict[str, str] = {}
        self._settings: dict[str, str] = {}
        self._withheld = checks.Withheld()
        self._file: str | None = None
        self._system: dict[str, str] = {}
        self.serialize_type = "JSON"
        self.ipv4_only = False
        self.product_name_servers: list[str] = []
        self._black_list = self._read_black_list()

    @classmethod
    def build(
        cls, config_file: str | None = None, *, home: Path, system: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Configuration:  # fmt: skip
        """Defaults, then the file. ``home`` is Java's user.home, ``system`` has its system properties.

        StartupError if the file cannot be read, has a number out of its range, or asks for a controller. Without a file
        the defaults are used, even if the default configStorePath exists.
        """
        system, environment = system or {}, environment or {}
        namesrv = NamesrvConfig(
            rocketmq_home=system.get("rocketmq.home.dir") or environment.get("ROCKETMQ_HOME"),
            kv_config_path=str(home / "namesrv" / "kvConfig.json"),
            config_store_path=str(home / "namesrv" / "namesrv.properties"),
        )
        configuration = cls(namesrv, NettyServerConfig())
        settings = _read(config_file) if config_file is not None else {}
        configuration._apply(settings, system, environment)
        if config_file is not None:
            namesrv.config_store_path = configuration._file = config_file
        return configuration

    def _apply(self, settings: Mapping[str, str], system: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._set(settings)
        if self.discovery.mute:
            self._keep_to_itself()
        self.limits.read_frame_max(system)
        declared = self._declared()
        self.extra = {key: text for key, text in settings.items() if key not in declared}
        self._settings = dict(settings)
        self._system = dict(system)
        self.serialize_type = _serialize_type(system, environment)
        self.ipv4_only = parse_boolean(system.get(IPV4_ONLY))
        # NameServerAddressUtils.getNameServerAddresses, for the cluster-test mode
        product = system.get("rocketmq.namesrv.addr", environment.get("NAMESRV_ADDR", ""))
        self.product_name_servers = listed(product)
        if self.namesrv.cluster_test:
            check_addresses("rocketmq.namesrv.addr, or NAMESRV_ADDR,", self.product_name_servers)
        if self.namesrv.enable_controller_in_namesrv:
            raise StartupError(CONTROLLER_REFUSED)
        self._black_list = self._read_black_list()

    def _set(self, settings: Mapping[str, str]) -> None:
        """Set what the file says. StartupError for a text that is not valid."""
        for config in (self.namesrv, self.netty):
            properties.read(config, settings)
        for own in self.own():
            own.update(settings)

    def _keep_to_itself(self) -> None:
        """What ``rocketns.mute`` switches off: everything that asks others, or offers them something."""
        self.restore.seed_servers = self.discovery.peers = self.discovery.address_server = ""
        self.restore.ask_unconfirmed = False

    def read_tls(self) -> TlsConfig:
        """The TLS properties. Their own file is read again at every call."""
        return TlsConfig.read(self._system, self._settings)

    def listen_at(self, host: str, port: int) -> None:
        """The supervisor's socket decides the address. Where the file gives another one, the log says so."""
        for name, text in (("bindAddress", host), ("listenPort", str(port))):
            if self._settings.get(name, text) != text:
                log.warning("%s=%r has no effect: the supervisor passed a socket that listens at %s:%d",
                            name, self._settings[name], host, port)  # fmt: skip
        self.netty.show_address(host, port)

    def _declared(self) -> dict[str, Field[Any]]:
        return properties.declared(self.namesrv) | properties.declared(self.netty)

    def _read_black_list(self) -> frozenset[str]:
        return frozenset(checks.BLACK_LIST) | frozenset(listed(self.namesrv.config_black_list))

    def items(self) -> dict[str, str]:
        """Every property that has a value, as text, sorted by key."""
        merged = self.extra | properties.items(self.namesrv) | properties.items(self.netty)
        return dict(sorted(merged.items()))

    def text(self) -> str:
        """The answer to request 319: ``key=value`` lines, not escaped, as in Java. No passwords: any peer may ask."""
        return "".join(f"{key}={value}\n" for key, value in self.items().items() if not properties.is_secret(key))

    def reread(self) -> dict[str, str]:
        """Apply those properties of the start-up file that take effect without a restart; return the changed ones.

        Changes nothing with a file with which the server would not start.
        ``rocketns.peers`` and the rates of hosts are read as well; they are no properties of Java, so they are not
        among the returned ones.
        """
        if self._file is None:
            return {}
        try:
            settings = _read(self._file)
            fresh = Configuration(NamesrvConfig(), NettyServerConfig())
            fresh._set(settings)
        except StartupError as error:
            log.error("the configuration is not changed: %s", error)
            return {}
        self.limits.update_live(fresh.limits)
        self.discovery.peers = fresh.discovery.peers
        if self.discovery.mute:
            self._keep_to_itself()
        before = self.items()
        self._settings = settings
        for config in (self.namesrv, self.netty):
            names = {name for name, one in properties.declared(config).items() if one.metadata["effect"] in REREAD}
            properties.update(config, {name: text for name, text in settings.items() if name in names})
            self._withheld.forget(names & settings.keys())
        return {key: text for key, text in self.items().items() if before.get(key) != text}

    def file_content(self) -> bytes:
        """The text of the configuration file: all that is shown, but old texts where request 318 may not write."""
        return properties.dump(self.items() | self._withheld.texts)

    def withheld(self) -> list[str]:
        """The properties whose values are shown and not written to the file."""
        return sorted(self._withheld.texts)

    def update(self, body: bytes) -> dict[str, str]:
        """Apply the properties text of request 318; return the changed ones. RequestError refuses all of it.

        Unknown keys and values that do not parse are ignored silently, as in Java.
        """
        settings = _parse_update(body)
        checks.refuse_names(set(settings), self._black_list)
        checks.refuse_control_characters(self._texts_of(settings))
        before = self.items()
        for config in (self.namesrv, self.netty):
            properties.update(config, settings)
            self._withheld.sort_out(properties.declared(config), before, config)
        self.extra |= {key: text for key, text in settings.items() if key in self.extra}
        return {key: text for key, text in self.items().items() if before.get(key) != text}

    def _texts_of(self, settings: Mapping[str, str]) -> dict[str, str]:
        """The texts that will be kept as they are, without conversion to a number or boolean."""
        declared = self._declared()
        texts = {name: trim(settings[name]) for name in settings if name in declared and declared[name].type == "str"}
        return texts | {name: text for name, text in settings.items() if name in self.extra}

    def warnings(self) -> list[str]:
        """Settings of the start that have no effect, or another one than they seem to have, a sentence each."""
        declared, of_tls = self._declared(), tls.read_file(self._settings | self._system)
        return [
            *(f"{name} is accepted but not used by rocketns ({doc})"
              for name, doc in checks.unused(self._settings, declared).items()),
            *(f"configuration file: {one}" for one in checks.in_the_file(self._settings, declared)),
            *(f"command line: {one}" for one in checks.in_the_system_properties(self._system, declared)),
            *(f"TLS properties file: {one}" for one in checks.in_the_tls_file(of_tls)),
        ]  # fmt: skip


def _serialize_type(system: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """The property, then the environment, as in RemotingCommand's static block. StartupError for an unknown name."""
    text = system.get("rocketmq.serialize.type", environment.get("ROCKETMQ_SERIALIZE_TYPE", ""))
    if not text.strip():
        return "JSON"
    if text not in SERIALIZE_TYPES:
        raise StartupError(f"rocketmq.serialize.type is {text!r}, but must be one of {', '.join(SERIALIZE_TYPES)}")
    return text


def _parse_update(body: bytes) -> dict[str, str]:
    if len(body) > checks.TEXT_BYTES_MAX:
        raise RequestError(f"Can not update config, the text has more than {checks.TEXT_BYTES_MAX} bytes.")
    try:
        return properties.load(body.decode("utf-8", "replace").encode("utf-8"))
    except ValueError as error:
        raise RequestError("string2Properties error") from error


def _read(config_file: str) -> dict[str, str]:
    try:
        return properties.load(Path(config_file).read_bytes())
    except OSError as error:
        raise StartupError(f"Cannot read the configuration file {config_file!r}: {error.strerror}") from error
    except ValueError as error:
        raise StartupError(f"The configuration file {config_file!r} is not a Java properties file: {error}") from error
