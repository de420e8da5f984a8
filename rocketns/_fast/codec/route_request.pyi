"""What Python callers see of route_request.pyx."""

def recognise(frame: bytes | memoryview) -> tuple[bytes, int, int, bool] | None:
    """Topic, opaque, version and whether the body is to be in the standard dialect; None: for the reference.

    ``frame`` is whole and well formed as far as `wire.next_frame` tells.
    """

def recognise_like(learnt: bytes | memoryview, frame: bytes | memoryview) -> tuple[bytes, int, int, bool] | None:
    """What `recognise` tells of ``frame``, found by its likeness to ``learnt``; None where that is not enough."""
