"""What Python callers see of fingerprint.pyx."""

def fingerprint(data: bytes | memoryview) -> int:
    """The same for equal bytes within one process; who does not know its key cannot make different ones equal."""
