"""What Python callers see of wire.pyx."""

def next_frame(buffer: bytes | bytearray | memoryview, start: int, frame_size_max: int) -> int:
    """The size of the frame at ``start`` in bytes, its 4 length bytes included (8 or more).

    0 = more bytes are needed, -1 = malformed (close the connection). ``frame_size_max`` is the largest
    whole frame in bytes, below 2**32. ValueError if ``start`` is outside the buffer.
    """

# code, language, version, opaque, flag, ext fields (None where there is no section), where the fields ended in `data`
Parsed = tuple[int, int, int, int, int, dict[str, str | None] | None, int]

def read_binary_header(data: bytes | memoryview, start: int, header_length: int, fields_max: int) -> Parsed:
    """The header at ``start``. ValueError, with the reason, where Java closes the connection.

    As in Java the fields may end behind ``header_length``, but not behind ``data``. More than ``fields_max`` ext
    fields are refused.
    """
