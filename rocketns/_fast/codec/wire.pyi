"""What Python callers see of wire.pyx."""

def next_frame(buffer: bytes | bytearray | memoryview, start: int, frame_size_max: int) -> int:
    """The size of the frame at ``start`` in bytes, its 4 length bytes included (8 or more).

    0 = more bytes are needed, -1 = malformed (close the connection). ``frame_size_max`` is the largest
    whole frame in bytes, below 2**32. ValueError if ``start`` is outside the buffer.
    """
