"""RocketMQ 5's proxy in cluster mode: gRPC for clients, ordinary name server and broker requests behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from interop.harness.ports import free_port
from interop.harness.rocketmq.brokers import BOOT_TIMEOUT_S, CLUSTER
from interop.harness.rocketmq.java import CURRENT, Java
from interop.harness.rocketmq.maven import jars

HEAP_MB = 192
BOOT_LINE = "rocketmq-proxy startup successfully"


def proxy_jars() -> str:
    return jars(f"rocketmq-proxy-{CURRENT}", CURRENT, "rocketmq-proxy")


class Proxy:
    """Started on construction, until its boot line. It knows nothing but the name servers, the cluster's name and
    ``more`` of its configuration."""

    def __init__(self, home: Path, name_servers: str, more: Mapping[str, object] = {}) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        settings = {
            "rocketMQClusterName": CLUSTER,
            "proxyMode": "CLUSTER",
            "namesrvAddr": name_servers,
            "grpcServerPort": self.port,
            "remotingListenPort": free_port(),
            "localServeAddr": "127.0.0.1",
            **more,
        }
        config = home / "proxy.json"
        config.write_text(json.dumps(settings), "utf-8")
        self.process = Java(home).start(
            "org.apache.rocketmq.proxy.ProxyStartup", output="stdout.log", heap_mb=HEAP_MB, libraries=proxy_jars(),
            options=(f"-Dcom.rocketmq.proxy.configPath={config}",),
        )  # fmt: skip
        self.process.wait_for_start(BOOT_LINE, BOOT_TIMEOUT_S)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def kill(self) -> int:
        return self.process.kill()
