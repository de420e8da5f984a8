"""NettyServerConfig of RocketMQ 5.5.0: the same properties and defaults; what belongs to Netty alone is only shown."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.config.properties import Effect, prop

HIGH_WATER_MARK_BYTES = 64 * 1024  # Netty's defaults
LOW_WATER_MARK_BYTES = 32 * 1024
CONNECTION, LIVE, START, UNUSED = Effect.CONNECTION, Effect.LIVE, Effect.START, Effect.UNUSED
# Java does not start with none, and the file may go back to it.
THREADS_KEPT = (1, 1024)


@dataclass(slots=True)
class NettyServerConfig:
    """What the socket side is told. Sizes are bytes, 0 = the default of system or Netty; ``…Seconds`` in s."""

    bind_address: str = prop("0.0.0.0", "address to listen on", START, kept=False)
    listen_port: int = prop(
        9876, "port to listen on; 0 takes a free one and shows it in the boot line", START, low=0, high=65_535,
        kept=False,
    )  # fmt: skip
    server_worker_threads: int = prop(8, "Netty codec threads", UNUSED, kept=THREADS_KEPT)
    server_callback_executor_threads: int = prop(0, "Netty callback threads", UNUSED)
    server_selector_threads: int = prop(3, "Netty selector threads", UNUSED, kept=THREADS_KEPT)
    server_oneway_semaphore_value: int = prop(256, "outgoing one-way requests at a time", UNUSED)
    server_async_semaphore_value: int = prop(64, "outgoing asynchronous requests at a time", UNUSED)
    server_channel_max_idle_time_seconds: int = prop(
        120, "s without a byte after which a connection closes; 0 or less = never", CONNECTION, kept=(60, 86_400)
    )
    server_socket_snd_buf_size: int = prop(0, "SO_SNDBUF of accepted sockets", START)
    server_socket_rcv_buf_size: int = prop(0, "SO_RCVBUF of accepted sockets", START)
    write_buffer_high_water_mark: int = prop(
        0, "unsent bytes at which reading pauses; 0 or less = 65536", START, kept=False
    )
    write_buffer_low_water_mark: int = prop(
        0, "unsent bytes at which reading goes on; 0 or less = 32768", START, kept=False
    )
    server_socket_backlog: int = prop(1024, "never used by Java either: the backlog is 1024", UNUSED)
    server_netty_worker_group_enable: bool = prop(True, "Netty's own worker group", UNUSED)
    server_pooled_byte_buf_allocator_enable: bool = prop(True, "Netty's pooled buffers", UNUSED)
    enable_shutdown_gracefully: bool = prop(False, "answer GO_AWAY for a while before stopping", LIVE)
    shutdown_wait_time_seconds: int = prop(30, "s in which a graceful shutdown answers GO_AWAY", LIVE, kept=(0, 300))
    use_epoll_native_selector: bool = prop(False, "Netty's native epoll", UNUSED)

    @property
    def water_marks(self) -> tuple[int, int]:
        """Unsent bytes of a connection at which reading goes on, and at which it pauses."""
        low = self.write_buffer_low_water_mark if self.write_buffer_low_water_mark > 0 else LOW_WATER_MARK_BYTES
        high = self.write_buffer_high_water_mark if self.write_buffer_high_water_mark > 0 else HIGH_WATER_MARK_BYTES
        return min(low, high), max(low, high)

    def show_port(self, port: int) -> None:
        """``listenPort`` shows the port that the system chose for 0."""
        self.listen_port = port

    @property
    def idle_ms_max(self) -> int:
        """The idle limit of a connection in milliseconds; 0 or less is none."""
        return self.server_channel_max_idle_time_seconds * 1000
