"""NamesrvConfig and NettyServerConfig of RocketMQ 5.5.0: the same properties and defaults, and the same meaning.

Netty's own are shown and not used. CompatibleConfig says how closely the answers follow RocketMQ's: all name servers of
a cluster should have the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import PREFIX, Effect, OwnConfig, prop
from rocketns.errors import StartupError

HIGH_WATER_MARK_BYTES = 64 * 1024  # Netty's defaults
LOW_WATER_MARK_BYTES = 32 * 1024
CONNECTION, LIVE, START, UNUSED = Effect.CONNECTION, Effect.LIVE, Effect.START, Effect.UNUSED
# Java does not start with 0 threads, and Java may read this file after a migration back.
THREADS_STORED = (1, 1024)
BUSY = "further ones are answered SYSTEM_BUSY"
# rocketns/protocol/codes.py has what each of them says.
VERSIONS = ("5.5.0", "5.5.1")


@dataclass(slots=True)
class NamesrvConfig:
    """The properties of the name server itself."""

    rocketmq_home: str | None = prop(None, "RocketMQ's installation folder; rocketns does not need one", UNUSED)
    kv_config_path: str = prop("", "the file of the KV configuration; empty keeps it in memory alone", START)
    config_store_path: str = prop("", "the file for changed properties; with -c it is that file", START)
    config_black_list: str = prop(
        "configBlackList;configStorePath;kvConfigPath",
        "properties that request 318 may not change, separated by ';'",
        START,
    )
    product_env_name: str = prop("center", "environment that the cluster-test mode stands in for", UNUSED)
    cluster_test: bool = prop(
        False, "cluster-test mode: every request is a route lookup; NAMESRV_ADDR is asked for missing topics", START,
        stored=False,
    )  # fmt: skip
    order_message_enable: bool = prop(False, "add the order configuration of a topic to its route", LIVE)
    return_order_topic_config_to_broker: bool = prop(True, "send the ordered topics to registering brokers", LIVE)
    client_request_thread_pool_nums: int = prop(
        8, "Java's threads for route lookups", UNUSED, unit="threads", stored=THREADS_STORED
    )
    default_thread_pool_nums: int = prop(
        16, "Java's threads for all other requests", UNUSED, unit="threads", stored=THREADS_STORED
    )
    client_request_thread_pool_queue_capacity: int = prop(
        50_000, "route lookups that may wait", START, unit="requests", at_limit=BUSY, low=1
    )
    default_thread_pool_queue_capacity: int = prop(
        10_000, "other requests that may wait", START, unit="requests", at_limit=BUSY, low=1
    )
    scan_not_active_broker_interval: int = prop(
        5_000, "time between two scans for brokers without heartbeat", START, unit="ms", long=True, low=1,
        stored=(100, 600_000),
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
        False, "run a controller in this process: refused. Run RocketMQ's own controller", START, stored=False
    )
    need_wait_for_service: bool = prop(False, "refuse route lookups until waitSecondsForService is over", LIVE)
    wait_seconds_for_service: int = prop(
        45, "time after the start in which needWaitForService refuses lookups", LIVE, unit="s", stored=(0, 60)
    )
    delete_topic_with_broker_registration: bool = prop(
        False, "delete topics that a broker's registration no longer contains", LIVE
    )


@dataclass(slots=True)
class NettyServerConfig:
    """The properties of the sockets. A size of 0 is the default of the system or of Netty."""

    bind_address: str = prop("0.0.0.0", "address to listen on", START, stored=False)
    listen_port: int = prop(
        9876, "port to listen on; 0 takes a free one and prints it in the boot line", START, low=0, high=65_535,
        stored=False,
    )  # fmt: skip
    server_worker_threads: int = prop(8, "Netty's codec threads", UNUSED, unit="threads", stored=THREADS_STORED)
    server_callback_executor_threads: int = prop(0, "Netty's callback threads", UNUSED, unit="threads")
    server_selector_threads: int = prop(3, "Netty's selector threads", UNUSED, unit="threads", stored=THREADS_STORED)
    server_oneway_semaphore_value: int = prop(256, "outgoing one-way requests at a time", UNUSED, unit="requests")
    server_async_semaphore_value: int = prop(64, "outgoing asynchronous requests at a time", UNUSED, unit="requests")
    server_channel_max_idle_time_seconds: int = prop(
        120, "time without a byte; 0 or less is no limit", CONNECTION, unit="s", at_limit="the connection is closed",
        stored=(60, 86_400),
    )  # fmt: skip
    server_socket_snd_buf_size: int = prop(0, "SO_SNDBUF of accepted sockets", START, unit="bytes")
    server_socket_rcv_buf_size: int = prop(0, "SO_RCVBUF of accepted sockets", START, unit="bytes")
    write_buffer_high_water_mark: int = prop(
        0, "unsent bytes of a connection; 0 or less is 65536", START, unit="bytes",
        at_limit="the connection is not read", stored=False,
    )  # fmt: skip
    write_buffer_low_water_mark: int = prop(
        0, "unsent bytes at which a connection is read again; 0 or less is 32768", START, unit="bytes", stored=False
    )
    server_socket_backlog: int = prop(1024, "not used by Java either: the backlog is 1024", UNUSED, unit="connections")
    server_netty_worker_group_enable: bool = prop(True, "Netty's own worker group", UNUSED)
    server_pooled_byte_buf_allocator_enable: bool = prop(True, "Netty's pooled buffers", UNUSED)
    enable_shutdown_gracefully: bool = prop(False, "answer GO_AWAY for a while before stopping", LIVE)
    shutdown_wait_time_seconds: int = prop(
        30, "time in which a graceful shutdown answers GO_AWAY", LIVE, unit="s", stored=(0, 300)
    )
    use_epoll_native_selector: bool = prop(False, "Netty's native epoll", UNUSED)

    @property
    def water_marks(self) -> tuple[int, int]:
        """Unsent bytes of a connection: reading resumes at the first number and pauses at the second."""
        low = self.write_buffer_low_water_mark if self.write_buffer_low_water_mark > 0 else LOW_WATER_MARK_BYTES
        high = self.write_buffer_high_water_mark if self.write_buffer_high_water_mark > 0 else HIGH_WATER_MARK_BYTES
        return min(low, high), max(low, high)

    def show_address(self, host: str, port: int) -> None:
        """``bindAddress`` and ``listenPort`` show the address of a socket that was passed."""
        self.bind_address = host
        self.listen_port = port

    def show_port(self, port: int) -> None:
        """``listenPort`` shows the port that the system chose for 0."""
        self.listen_port = port

    @property
    def idle_ms_max(self) -> int:
        """The idle limit of a connection in milliseconds; 0 or less is none."""
        return self.server_channel_max_idle_time_seconds * 1000


@dataclass(slots=True)
class CompatibleConfig(OwnConfig):
    """Which release of RocketMQ the answers follow, and where they are stricter on request."""

    title = "Compatibility with RocketMQ"

    compatible_version: str = prop(
        VERSIONS[0],
        f"the release of RocketMQ that answers follow: {' or '.join(VERSIONS)}. They differ in the version number of "
        "every answer, and in the documentation address in the answer to a lookup of an unknown topic",
        Effect.START,
    )
    check_order_conf: bool = prop(
        False,
        "true: request 100 does not take an order configuration (KV namespace ORDER_TOPIC_CONFIG) that clients cannot "
        "read. Java takes any, and clients then fail at each lookup of the topic",
        Effect.START,
    )

    def check_texts(self) -> None:
        """StartupError for a release that rocketns does not know."""
        if self.compatible_version not in VERSIONS:
            raise StartupError(
                f"{PREFIX}compatibleVersion is {self.compatible_version!r}, but must be {' or '.join(VERSIONS)}"
            )
