"""What Python callers see of hosts.pyx."""

def host_of(address: bytes) -> bytes:
    """`rocketns.addresses.host_of`, compiled."""
