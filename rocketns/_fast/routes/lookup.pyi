"""What Python callers see of lookup.pyx."""

from rocketns._fast.routes.routes import RouteSlots

def answer(slots: RouteSlots, frame: bytes | memoryview, serialize_type: int) -> bytes | None:
    """The whole answer frame that a reactor would send, None where it hands the request over.

    ``serialize_type`` 0 writes a JSON header, 1 a binary one.
    """
