"""What Python callers see of proxy_extensions.pyx."""

def fault_of(extensions: bytes) -> str | None:
    """What is wrong with the extensions of a PROXY header; None where Netty takes them."""
