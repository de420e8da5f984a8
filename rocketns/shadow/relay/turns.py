"""How much of one connection the relay takes before the others have their turn."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

# asyncio would take 256 KiB: 2,600 small requests, which keep all others waiting for a tenth of a second and longer.
READ_BYTES_MAX = 32 * 1024

# One for all connections: what is read is handed on before the event loop reads anything else.
_buffer = bytearray(READ_BYTES_MAX)
_view = memoryview(_buffer)


class InTurns(asyncio.BufferedProtocol, ABC):
    """`data_received` gets READ_BYTES_MAX at a time. The relay has one event loop in its process."""

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where the event loop puts what it reads."""
        return _view

    def buffer_updated(self, nbytes: int) -> None:
        """So much was read."""
        self.data_received(bytes(_view[:nbytes]))

    @abstractmethod
    def data_received(self, data: bytes) -> None:
        """Bytes of the peer."""
