"""What Python callers see of proxy_header.pyx."""

def fault_of(extensions: bytes) -> str | None:
    """What is wrong with the extensions of a PROXY header; None where Netty takes them."""

def parse(data: bytes) -> tuple[int, str | None] | None:
    """The header's size and the address that it announces. None while bytes are missing, ValueError for a wrong one."""
