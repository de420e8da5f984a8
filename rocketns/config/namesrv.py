"""NamesrvConfig of RocketMQ 5.5.0: the same properties, defaults and meaning."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import Effect, prop

LIVE, START, UNUSED = Effect.LIVE, Effect.START, Effect.UNUSED
# Java does not start with none, and the file may go back to it.
THREADS_KEPT = (1, 1024)


@dataclass(slots=True)
class NamesrvConfig:
    """What the name server itself is told. Paths are files; ``…Interval`` is in milliseconds, ``…Seconds`` in s."""

    rocketmq_home: str | None = prop(None, "RocketMQ's installation; shown, needed by nothing here", UNUSED)
    kv_config_path: str = prop("", "file that the KV configuration is kept in", START)
    config_store_path: str = prop("", "file that a changed configuration is written to; the -c file if given", START)
    config_black_list: str = prop(
        "configBlackList;configStorePath;kvConfigPath",
        "properties that request 318 may not change, split at ';'",
        START,
    )
    product_env_name: str = prop("center", "environment that the cluster-test mode stands in for; shown", UNUSED)
    cluster_test: bool = prop(
        False, "answer every request as a route look-up, missing topics from NAMESRV_ADDR", START, kept=False
    )
    order_message_enable: bool = prop(False, "add the order configuration of a topic to its route", LIVE)
    return_order_topic_config_to_broker: bool = prop(True, "tell registering brokers the ordered topics", LIVE)
    client_request_thread_pool_nums: int = prop(8, "threads for route look-ups", UNUSED, kept=THREADS_KEPT)
    default_thread_pool_nums: int = prop(16, "threads for all other requests", UNUSED, kept=THREADS_KEPT)
    client_request_thread_pool_queue_capacity: int = prop(
        50_000, "route look-ups that may wait for their turn", START, low=1
    )
    default_thread_pool_queue_capacity: int = prop(10_000, "other requests that may wait for their turn", START, low=1)
    scan_not_active_broker_interval: int = prop(
        5_000, "ms between two scans for brokers that stopped sending heartbeats", START, long=True, low=1,
        kept=(100, 600_000),
    )  # fmt: skip
    un_register_broker_queue_capacity: int = prop(3_000, "unregistrations that may wait for their turn", START, low=1)
    support_acting_master: bool = prop(False, "show the smallest slave as master while there is none", LIVE)
    enable_all_topic_list: bool = prop(True, "answer request 206, the list of all topics", LIVE)
    enable_topic_list: bool = prop(True, "answer requests 224, 311, 312 and 313, topic lists", LIVE)
    notify_min_broker_id_changed: bool = prop(False, "tell a broker group when its smallest broker id changes", LIVE)
    enable_controller_in_namesrv: bool = prop(
        False, "run a controller in this process: refused, run RocketMQ's own", START, kept=False
    )
    need_wait_for_service: bool = prop(False, "refuse route look-ups for the first waitSecondsForService", LIVE)
    wait_seconds_for_service: int = prop(45, "s after start in which needWaitForService refuses", LIVE, kept=(0, 60))
    delete_topic_with_broker_registration: bool = prop(False, "drop topics that a registration no longer has", LIVE)
