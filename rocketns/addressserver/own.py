"""Which addresses are listed: those of ``rocketns.peers``, and this name server's own."""

from __future__ import annotations

from rocketns.addresses import ANY_ADDRESS, bare, with_port
from rocketns.client.own import others_and_own
from rocketns.config import DiscoveryConfig

LOOPBACK = "127.0.0.1"  # a socket for every address takes IPv4, too


async def asked_addresses(config: DiscoveryConfig, bind_address: str, port: int) -> dict[str, str]:
    """Each address that may be listed, with the address at which it is asked.

    Entries of ``peers`` that are this machine and port are this server; ``announcedAddress`` takes their place.
    """
    others, names = await others_and_own(config.peer_addresses, port)
    if config.announced_address or not names:
        names = [config.own_address(bind_address, port)]
    host = bare(bind_address)
    local = with_port(LOOPBACK if host in ANY_ADDRESS else host, port)
    return {addr: addr for addr in others} | {name: local for name in names if name}
