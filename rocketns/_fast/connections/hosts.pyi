"""What Python callers see of hosts.pyx."""

def host_of(address: bytes) -> bytes:
    """`rocketns.server.requests.host.host_of`, compiled."""
