"""What `rocketns collect` is asked to do."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.client.signer import Signer
from rocketns.collect.names import Named
from rocketns.config.tls import TlsConfig
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG

INTERVAL_S, INTERVAL_S_MIN, INTERVAL_S_MAX = 5.0, 1.0, 300.0
PER_SECOND, PER_SECOND_MIN, PER_SECOND_MAX = 50, 2, 2_000
TIMEOUT_S, TIMEOUT_S_MIN, TIMEOUT_S_MAX = 5.0, 0.1, 60.0
FOR_S_MIN, FOR_S_MAX = 1.0, 366 * 86_400.0
# Namespaces that are always read: no request lists them. LMQ is that of rocketmq-mqtt.
NAMESPACES = (NAMESPACE_ORDER_TOPIC_CONFIG, "LMQ")
NAMESPACES_MAX = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """``for_s``: end after this time; None: at a signal. ``namespaces``: of KV items, with those always read.
    ``ask_brokers``: ask brokers that vanished whether they run. ``timeout_s``: for each answer.
    """

    name_servers: list[Named]
    journal: str
    interval_s: float = INTERVAL_S
    per_second: int = PER_SECOND
    namespaces: tuple[str, ...] = NAMESPACES
    ask_brokers: bool = False
    for_s: float | None = None
    timeout_s: float = TIMEOUT_S
    tls: TlsConfig | None = None
    signer: Signer | None = None
