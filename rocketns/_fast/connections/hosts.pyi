"""What Python callers see of hosts.pyx."""

class HostTable:
    """What each host has, for any thread."""

    def limit(self, requests: int, connections: int) -> None: ...
    def drain_refused(self) -> list[tuple[bytes, int, int]]:
        """Hosts of which requests or connections were refused since the last call, and how many of each; not forgotten
        ones. A host is an address of 16 bytes; of IPv6 the last 8 are 0.
        """

    @property
    def refused(self) -> tuple[int, int]:
        """Requests, and connections."""
