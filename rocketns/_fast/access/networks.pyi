"""What Python callers see of networks.pyx."""

from enum import IntEnum

NETWORK_TABLE_MAX: int

class NetworkFlag(IntEnum):
    """What an address may do by its network alone."""

    MAY_LOOK_UP = ...
    """Route lookups."""
    HAS_EVIDENCE = ...
    """It belongs to a principal, so its connections are not closed as those of strangers."""

class Networks:
    """A table of networks, which never changes. Any thread."""

    def __init__(self, networks: list[tuple[bytes, int, int]]) -> None:
        """Address of 16 bytes (IPv4 mapped to IPv6), length of the prefix in bits of these 128, and flags.

        Bits of the address behind the prefix are ignored. ValueError for another address or length, and for more than
        `NETWORK_TABLE_MAX` networks.
        """

    def first_flags_of(self, address: bytes) -> int:
        """The flags of the first network that contains the address of 16 bytes, in the order of the list; 0 where none
        does. ValueError for other lengths.
        """
