"""NamesrvConfig of RocketMQ 5.5.0: the same properties, defaults and meaning."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import Effect, prop

LIVE, START, UNUSED = Effect.LIVE, Effect.START, Effect.UNUSED
# Java does not start with 0 threads, and Java may read this file after a migration back.
THREADS_KEPT = (1, 1024)
BUSY = "further ones are answered SYSTEM_BUSY"


@dataclass(slots=True)
class NamesrvConfig:
    """The properties of the name server itself."""

    rocketmq_home: str | None = prop(None, "RocketMQ's installation folder; rocketns does not need one", UNUSED)
    kv_config_path: str = prop("", "the file of the KV configuration", START)
    config_store_path: str = prop("", "the file for changed properties; with -c it is that file", START)
    config_black_list: str = prop(
        "configBlackList;configStorePath;kvConfigPath",
        "properties that request 318 may not change, separated by ';'",
        START,
    )
    product_env_name: str = prop("center", "environment that the cluster-test mode stands in for", UNUSED)
    cluster_test: bool = prop(
        False, "cluster-test mode: every request is a route lookup; NAMESRV_ADDR is asked for missing topics", START,
        kept=False,
    )  # fmt: skip
    order_message_enable: bool = prop(False, "add the order configuration of a topic to its route", LIVE)
    return_order_topic_config_to_broker: bool = prop(True, "send the ordered topics to registering brokers", LIVE)
    client_request_thread_pool_nums: int = prop(
        8, "Java's threads for route lookups", UNUSED, unit="threads", kept=THREADS_KEPT
    )
    default_thread_pool_nums: int = prop(
        16, "Java's threads for all other requests", UNUSED, unit="threads", kept=THREADS_KEPT
    )
    client_request_thread_pool_queue_capacity: int = prop(
        50_000, "route lookups that may wait", START, unit="requests", at_limit=BUSY, low=1
    )
    default_thread_pool_queue_capacity: int = prop(
        10_000, "other requests that may wait", START, unit="requests", at_limit=BUSY, low=1
    )
    scan_not_active_broker_interval: int = prop(
        5_000, "time between two scans for brokers without heartbeat", START, unit="ms", long=True, low=1,
        kept=(100, 600_000),
    )  # fmt: skip
    un_register_broker_queue_capacity: int = prop(
        3_000, "unregistrations that may wait", START, unit="requests", low=1,
        at_limit="a further request 104 is answered SYSTEM_ERROR",
    )  # fmt: skip
    support_acting_master: bool = prop(False, "while a master is missing, show its smallest slave as master", LIVE)
    enable_all_topic_list: bool = prop(True, "answer request 206, the list of all topics", LIVE)
    enable_topic_list: bool = prop(True, "answer requests 224, 311, 312 and 313, lists of topics", LIVE)
    notify_min_broker_id_changed: bool = prop(
        False, "notify the brokers of a group when its smallest broker id changes", LIVE
    )
    enable_controller_in_namesrv: bool = prop(
        False, "run a controller in this process: refused. Run RocketMQ's own controller", START, kept=False
    )
    need_wait_for_service: bool = prop(False, "refuse route lookups until waitSecondsForService is over", LIVE)
    wait_seconds_for_service: int = prop(
        45, "time after the start in which needWaitForService refuses lookups", LIVE, unit="s", kept=(0, 60)
    )
    delete_topic_with_broker_registration: bool = prop(
        False, "delete topics that a broker's registration no longer contains", LIVE
    )
