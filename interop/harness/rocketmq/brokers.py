"""A real broker as a process on free loopback ports, with small files in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from interop.harness.ports import free_port
from interop.harness.rocketmq.java import CURRENT, NO_TLS, Java
from interop.harness.topics import write_topics
from interop.harness.wire import Client

CLUSTER = "InteropCluster"
HEAP_MB = 256
BOOT_TIMEOUT_S = 240.0
# The broker accepts no shorter period between registrations (BrokerController.start clamps it to 10-60 s).
REGISTRATION_PERIOD_S = 10.0
BOOT_LINE = r"The broker\[.*\] boot success"
UPDATE_BROKER_CONFIG = 25
GET_BROKER_CONFIG = 26
GET_BROKER_RUNTIME_INFO = 28
PERMISSION = b"brokerPermission="

SMALL_FILES = {
    "mappedFileSizeCommitLog": 8 << 20,
    "mappedFileSizeConsumeQueue": 60_000,
    "messageIndexEnable": "false",
    "timerWheelEnable": "false",
    "diskMaxUsedSpaceRatio": 99,
    # TransactionMetricsFlushService looks at the clock without a pause until this time is over for the first time. With
    # the default of 10 s each broker takes a whole core for its first ten seconds.
    "transactionMetricFlushInterval": 500,
    # On a busy machine it would refuse requests after 200 ms of waiting, and not every client repeats them.
    "waitTimeMillsInSendQueue": 10_000,
    "osPageCacheBusyTimeOutMills": 10_000,
}


class Broker:
    """Started on construction, until its boot line. ``properties`` are added to its configuration file, ``topics``
    are there before it boots, ``options`` are the JVM's. Without ``name_servers`` its properties say where to ask.

    It listens at ``host``, on ``port`` (a free one unless it is said), on ``fast_port`` (for other brokers) and on
    ``ha_port`` (replication).
    The boot line does not promise a registration: a 5.x broker registers at boot only with the name servers that its
    client has connected to by then, and with the others at its first timer, after 10 s (``registered_within_s``),
    or when it is asked to.
    """

    registered_within_s = 10.0 + REGISTRATION_PERIOD_S + 220.0

    def __init__(self, home: Path, name: str, name_servers: str, *, version: str = CURRENT,
                 properties: Mapping[str, object] | None = None, topics: Iterable[str] = (),
                 options: tuple[str, ...] = (), host: str = "127.0.0.1", port: int = 0) -> None:  # fmt: skip
        self.name, self.home, self.version, self.options, self.host = name, home, version, options, host
        home.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port((0, -2, 1))
        settings = self._settings(name_servers) | dict(properties or {})
        self.broker_id = int(str(settings.get("brokerId", 0)))
        self.has_replicas = int(str(settings.get("totalReplicas", 1))) > 1
        self.config_path = home / "broker.properties"
        self.config_path.write_text("".join(f"{k}={v}\n" for k, v in settings.items()), "utf-8")
        if topics:
            write_topics(home / "store", topics)
        self.start()

    @property
    def fast_port(self) -> int:
        return self.port - 2

    @property
    def ha_port(self) -> int:
        return self.port + 1

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        self.process = Java(self.home, self.version).start(
            "org.apache.rocketmq.broker.BrokerStartup", "-c", str(self.config_path),
            output="stdout.log", heap_mb=HEAP_MB, options=self._options(),
        )  # fmt: skip
        self.process.wait_for_start(BOOT_LINE, BOOT_TIMEOUT_S)

    def _options(self) -> tuple[str, ...]:
        """A broker that is told nothing of TLS takes none."""
        return self.options if any("tls." in option for option in self.options) else (NO_TLS, *self.options)

    def stop(self) -> int:
        return self.process.stop()

    def ask_to_stop(self) -> None:
        """SIGTERM without waiting; ``stop`` waits."""
        self.process.signal(signal.SIGTERM)

    def kill(self) -> int:
        return self.process.kill()

    def ask_to_register(self) -> None:
        """Have it register now: ``mqadmin updateBrokerConfig -k brokerPermission`` with what it has already.

        One of several replicas is left alone, for it may not register before it knows the others, and one that takes
        TLS alone does not listen: both then register when they would have anyhow.
        """
        if not self.has_replicas:
            with contextlib.suppress(ConnectionError), Client(self.port, self.host) as client:
                lines = (client.request(GET_BROKER_CONFIG).body or b"").splitlines()
                client.request(UPDATE_BROKER_CONFIG, body=b"".join(x for x in lines if x.startswith(PERMISSION)))

    def log(self) -> str:
        return Java(self.home, self.version).log.read_text("utf-8", "replace")

    def stored_bytes(self) -> int:
        """The end of the commit log (GET_BROKER_RUNTIME_INFO); -1 in the first second, when the answer is an error."""
        with Client(self.port, self.host) as client:
            answer = client.request(GET_BROKER_RUNTIME_INFO)
        if answer.code != 0:
            return -1
        return int(json.loads(answer.body or b"{}")["table"]["commitLogMaxOffset"])

    def connected_ports(self) -> set[int]:
        """The remote ports of the connections that the broker has made or accepted."""
        connections = psutil.Process(self.process.pid).net_connections("tcp")
        return {c.raddr.port for c in connections if c.raddr and c.status == psutil.CONN_ESTABLISHED}

    def _settings(self, name_servers: str) -> dict[str, object]:
        store = self.home / "store"
        return (
            SMALL_FILES
            | {
                "brokerName": self.name,
                "brokerClusterName": CLUSTER,
                "brokerIP1": self.host,
                "brokerIP2": self.host,
                "bindAddress": self.host,
                "listenPort": self.port,
                "haListenPort": self.ha_port,
                "storePathRootDir": store,
                "storePathCommitLog": store / "commitlog",
                "registerNameServerPeriod": int(REGISTRATION_PERIOD_S * 1000),
            }
            | ({"namesrvAddr": name_servers} if name_servers else {})
        )
