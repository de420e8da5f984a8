"""What Python callers see of fingerprint.pyx."""

def stamp_bounds(body: bytes | memoryview) -> tuple[int, int]:
    """Where the digits that `fingerprint` leaves out begin and end. Twice the body's length if there are none."""

def fingerprint(body: bytes | memoryview) -> int:
    """Equal for bodies that differ only in the digits of topicConfigSerializeWrapper.mappingDataVersion.timestamp.

    A body's fingerprint is the same throughout one process. Other bodies have the same with a probability that
    hashing.pxd states, even if they were chosen for that.
    """
