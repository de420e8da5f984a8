"""What Python callers see of hosts.pyx."""

class HostTable:
    """What each host has, for any thread."""

    def limit(self, requests: int, connections: int) -> None: ...
    def drain_refused(self) -> list[tuple[str, int, int]]: ...
    @property
    def refused(self) -> tuple[int, int]:
        """Requests, and connections."""
