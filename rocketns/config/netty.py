"""NettyServerConfig of RocketMQ 5.5.0: the same properties and defaults. Netty's own are shown and not used."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import Effect, prop

HIGH_WATER_MARK_BYTES = 64 * 1024  # Netty's defaults
LOW_WATER_MARK_BYTES = 32 * 1024
CONNECTION, LIVE, START, UNUSED = Effect.CONNECTION, Effect.LIVE, Effect.START, Effect.UNUSED
# Java does not start with 0 threads, and Java may read this file after a migration back.
THREADS_KEPT = (1, 1024)


@dataclass(slots=True)
class NettyServerConfig:
    """The properties of the sockets. A size of 0 is the default of the system or of Netty."""

    bind_address: str = prop("0.0.0.0", "address to listen on", START, kept=False)
    listen_port: int = prop(
        9876, "port to listen on; 0 takes a free one and prints it in the boot line", START, low=0, high=65_535,
        kept=False,
    )  # fmt: skip
    server_worker_threads: int = prop(8, "Netty's codec threads", UNUSED, unit="threads", kept=THREADS_KEPT)
    server_callback_executor_threads: int = prop(0, "Netty's callback threads", UNUSED, unit="threads")
    server_selector_threads: int = prop(3, "Netty's selector threads", UNUSED, unit="threads", kept=THREADS_KEPT)
    server_oneway_semaphore_value: int = prop(256, "outgoing one-way requests at a time", UNUSED, unit="requests")
    server_async_semaphore_value: int = prop(64, "outgoing asynchronous requests at a time", UNUSED, unit="requests")
    server_channel_max_idle_time_seconds: int = prop(
        120, "time without a byte; 0 or less is no limit", CONNECTION, unit="s", at_limit="the connection is closed",
        kept=(60, 86_400),
    )  # fmt: skip
    server_socket_snd_buf_size: int = prop(0, "SO_SNDBUF of accepted sockets", START, unit="bytes")
    server_socket_rcv_buf_size: int = prop(0, "SO_RCVBUF of accepted sockets", START, unit="bytes")
    write_buffer_high_water_mark: int = prop(
        0, "unsent bytes of a connection; 0 or less is 65536", START, unit="bytes",
        at_limit="the connection is not read", kept=False,
    )  # fmt: skip
    write_buffer_low_water_mark: int = prop(
        0, "unsent bytes at which a connection is read again; 0 or less is 32768", START, unit="bytes", kept=False
    )
    server_socket_backlog: int = prop(1024, "not used by Java either: the backlog is 1024", UNUSED, unit="connections")
    server_netty_worker_group_enable: bool = prop(True, "Netty's own worker group", UNUSED)
    server_pooled_byte_buf_allocator_enable: bool = prop(True, "Netty's pooled buffers", UNUSED)
    enable_shutdown_gracefully: bool = prop(False, "answer GO_AWAY for a while before stopping", LIVE)
    shutdown_wait_time_seconds: int = prop(
        30, "time in which a graceful shutdown answers GO_AWAY", LIVE, unit="s", kept=(0, 300)
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
