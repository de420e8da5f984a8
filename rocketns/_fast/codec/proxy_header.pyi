"""What Python callers see of proxy_header.pyx."""

DETECTION_BYTES: int

def is_header(start: bytes) -> bool:
    """Whether a connection's first DETECTION_BYTES announce a PROXY header."""

def parse(data: bytes) -> tuple[int, str | None] | None:
    """The header's size in bytes, and address:port of the real peer, None where the header does not name it.

    None while bytes are missing. ValueError where the connection closes.
    """
