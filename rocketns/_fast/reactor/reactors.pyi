"""What Python callers see of reactors.pyx."""

from typing import Protocol

from rocketns._fast.routes.routes import RouteSlots

REACTORS_MAX: int

class ReactorLimits(Protocol):
    """Bytes, frames and connections; a buffer of 0 bytes is the system's own choice."""

    frame_bytes_max: int
    in_flight_max: int
    connections_max: int
    incoming_bytes_max: int
    queued_bytes_max: int
    first_frames_bytes_max: int
    outgoing_bytes_max: int
    outgoing_bytes_total_max: int
    high_water_bytes: int
    send_buffer_bytes: int
    receive_buffer_bytes: int

class Reactors:
    """The reactors of one server: `run` each on a thread, `listen`, and then `take` whenever `fileno` is ready.

    A connection is a number that is never used again. OSError where the system lacks memory or descriptors.
    """

    slots: RouteSlots
    count: int

    def __init__(
        self,
        slots: RouteSlots,
        count: int,
        limits: ReactorLimits,
        takes_plain: bool,
        detection_bytes: int,
        serialize_type: int,
        idle_ms_max: int,
    ) -> None:
        """``takes_plain`` False gives every connection away. A connection's first ``detection_bytes`` come together.

        ``serialize_type`` 0 writes JSON headers, 1 binary ones; ``idle_ms_max`` 0 is no limit.
        """

    def run(self, number: int) -> None:
        """A reactor's loop, without the GIL, until `stop`."""

    def listen(self, listen_fd: int) -> None:
        """Accept from a listening, non-blocking socket that stays the caller's."""

    def fileno(self) -> int:
        """Readable when there is something to `take`."""

    def take(self, most: int) -> list[tuple[int, int, bytes | memoryview | str | int]]:
        """Up to ``most`` messages in order: kind, connection, value: see `ReactorTransport`."""

    def done_with(self, frame_bytes: int) -> None:
        """A frame that was taken no longer waits: its bytes make room under ``queued_bytes_max``."""

    @property
    def has_more(self) -> bool:
        """Whether `take` left some."""

    def reply(
        self, connection: int, done: int, data: bytes | bytearray | memoryview, awaits_taken: bool = False
    ) -> None:
        """``data`` goes out, and ``done`` requests are no longer in flight. Nothing happens where it is gone.

        With ``awaits_taken`` a message says when the peer took its answers, up to the high-water mark.
        """

    def hold_here(self, kind: int, delta: int, largest: int) -> None:
        """Bytes that connections of control's loop hold: the change, and what the largest of them holds.

        ``kind`` 0 is input that is not worked off, 1 unsent answers.
        """

    def is_to_close_here(self, kind: int) -> bool:
        """Whether too many bytes are held, and control's loop has the connection that holds the most."""

    def end(self, connection: int) -> None:
        """Close after what was written."""

    def abort(self, connection: int) -> None:
        """Close at once."""

    def adopt(self, fd: int, address: bytes, received: bytes) -> None:
        """Carry on a plain connection whose first bytes, ``received``, are frames. The descriptor is the reactor's."""

    def deal_to(self, count: int) -> None:
        """The first ``count`` reactors get the connections that come from now on; at first one."""

    def give(self, source: int, target: int, thousandths: int, recent_ms: int) -> None:
        """Move so much of a reactor's connections to another. Only those at rest move, and no more than 512.

        ``recent_ms`` other than 0: of those that had a byte within that time. A connection that moved has a new number.
        """

    def carried(self) -> list[int]:
        """How many connections each reactor has."""

    def released(self) -> None:
        """A connection that was given away is closed."""

    def limit_idle(self, idle_ms_max: int) -> None:
        """The limit of connections that come from now on; 0 is none."""

    def close_idle(self, now_ms: int) -> None:
        """End connections idle for their limit."""

    def enable(self, enabled: bool) -> None:
        """Whether look-ups are answered; otherwise all are handed over, as at first."""

    def set_clock(self, now_ms: int) -> None:
        """For tests: what the reactors take for the time, until it is -1 again."""

    def count_lookups(self, keys_max: int, by_client: bool) -> None:
        """Count the look-ups answered, at most ``keys_max`` keys a reactor. Only before any loop runs."""

    def drain_lookups(self) -> tuple[list[tuple[str, str | None, int, int, int, int]], int, int]:
        """What was counted since the last call, and, of those beyond ``keys_max``, look-ups and misses.

        A row: topic, client where counts are kept by client, language code or -1, version, look-ups, misses.
        """

    def stop(self) -> None:
        """End the loops, which close all connections."""

    @property
    def rounds(self) -> list[int]:
        """For each reactor: how many times it has served all sockets that were ready."""

    @property
    def has_handled_all(self) -> bool:
        """For tests: whether the reactors handled every message sent to them."""

    @property
    def has_news(self) -> bool:
        """Whether something came that was not taken."""

    @property
    def is_settled(self) -> bool:
        """For tests: whether every message was handled and every message to control was taken."""

    @property
    def incoming_bytes(self) -> int:
        """Bytes of frames that are not complete, or must wait."""

    @property
    def outgoing_bytes(self) -> int:
        """Bytes of answers that their peers have not taken yet."""

    @property
    def replied_bytes(self) -> int:
        """Bytes of answers of control that the reactors have not looked at."""

    @property
    def queued_bytes(self) -> int:
        """Bytes of frames that control has not decoded."""

    @property
    def connections(self) -> int:
        """Open connections, those given away among them."""

    def counters(self) -> list[tuple[int, int]]:
        """For each reactor: look-ups answered with a route, and with "topic not exist"."""
