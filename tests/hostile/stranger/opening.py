"""The first steps of every seed: each goes far beyond one stated bound, so that even a short run finds it gone."""

from __future__ import annotations

import contextlib
import socket
import struct
import time

from interop.harness import codes
from interop.harness.payloads import register_body, topic_config
from interop.harness.wire import frame, json_header
from tests.hostile.stranger import steps
from tests.hostile.stranger.attacks import MB, PADDED, STRANGERS_HOST, connection, registration
from tests.hostile.stranger.grammar.frames import Frame
from tests.hostile.stranger.steps import KNOWN, PLAIN, TLS, Step

HOLD_S = 3.0
UNFINISHED = Frame("unfinished", struct.pack(">i", 15 * MB) + bytes(2 * MB))
# 4 MB in each answer to 206.
WIDE = registration(register_body([topic_config(f"{n}" + "w" * 3_900) for n in range(1_000)]), "opening")
LISTING = frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
UNREAD_CONNECTIONS = 96


def unread_lists(port: int) -> None:
    """Lists of 4 MB that nobody takes. What fits into the kernel differs, so the end of each list is somewhere else."""
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(connection(port))
        broker.sendall(WIDE)
        broker.recv(MB)
        for number in range(1, UNREAD_CONNECTIONS + 1):
            reader = stack.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, number << 14)
            reader.settimeout(HOLD_S)
            reader.bind((STRANGERS_HOST, 0))
            reader.connect(("127.0.0.1", port))
            reader.sendall(LISTING * 8)
        time.sleep(HOLD_S)


def _kv(number: int) -> Frame:
    fields = {"namespace": "opening", "key": str(number), "value": "v" * MB}
    return Frame("100", frame(json_header(codes.PUT_KV_CONFIG, fields)))


def _long_names(number: int) -> Frame:
    return Frame("103", registration(b"{}", f"{number}" + "l" * 3 * MB))


OPENING: tuple[Step, ...] = (
    Step(0, KNOWN, attack=unread_lists),
    Step(1, PLAIN, (UNFINISHED,), connections=64, reads=False, hold_s=HOLD_S),
    Step(2, TLS, (UNFINISHED,), connections=48, reads=False, hold_s=HOLD_S),
    Step(3, PLAIN, tuple(_long_names(number) for number in range(8)), hold_s=HOLD_S),
    Step(4, PLAIN, (Frame("103", registration(PADDED, "padded")),), connections=96, repeats=2, reads=False,
         hold_s=HOLD_S),
    Step(5, PLAIN, tuple(_kv(number) for number in range(8))),
)  # fmt: skip


def step_of(seed: int, number: int, addresses: tuple[str, ...] = ()) -> Step:
    """As `steps.step_of`, from the last step of the opening on."""
    return OPENING[number] if number < len(OPENING) else steps.step_of(seed, number, addresses)
