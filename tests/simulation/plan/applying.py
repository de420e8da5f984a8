"""Does the faults of a plan to a running deployment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.simulation.actors.broker import Broker
from tests.simulation.actors.nameserver import NameServer
from tests.simulation.plan.faults import Fault
from tests.simulation.world.network import Network
from tests.simulation.world.scheduler import World

SLOW_US_MAX = 5_000_000
SLOW_DISK_US_MAX = 8_000_000
WALL_JUMP_MS_MAX = 2 * 86_400_000


class Faults:
    """``changed`` is called after everything that is done to somebody."""

    def __init__(
        self, world: World, network: Network, servers: Sequence[NameServer], brokers: Sequence[Broker],
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._world, self._network = world, network
        self._servers, self._brokers = servers, brokers
        self._changed = changed
        self._acts: dict[str, Callable[[Fault], None]] = {
            "stop the name server": self._stop_server,
            "kill the name server": self._kill_server,
            "crash the name server in a write": self._crash_server,
            "cut the name server's power": self._power_server,
            "stall the name server": self._stall_server,
            "move the wall clock": self._move_wall_clock,
            "fill the disk": self._fill_disk,
            "break the disk": self._break_disk,
            "slow the disk": self._slow_disk,
            "stop the broker": self._stop_broker,
            "kill the broker": self._kill_broker,
            "cut the broker's power": self._power_broker,
            "stall the broker": self._stall_broker,
            "move the broker": self._move_broker,
            "change topics": self._change_topics,
            "cut the link": self._cut_link,
            "slow the link": self._slow_link,
            "restart all name servers": self._restart_all,
        }

    def plan(self, faults: Sequence[Fault]) -> None:
        for fault in faults:
            self._world.at(fault.at_ms * 1000, lambda fault=fault: self._act(fault))

    def _act(self, fault: Fault) -> None:
        self._acts[fault.kind](fault)
        self._changed()

    def _later(self, fault: Fault, action: Callable[[], None]) -> None:
        def act() -> None:
            action()
            self._changed()

        self._world.after(fault.lasts_ms * 1000, act)

    def _stop_server(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.stop()
        self._later(fault, server.start)

    def _kill_server(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.kill()
        self._later(fault, server.start)

    def _crash_server(self, fault: Fault) -> None:
        """In one of the next changes of its disk. The restart comes in any case."""
        server = self._servers[fault.server]
        server.disk.crash_in = 1 + int(fault.amount * 40)

        def start() -> None:
            server.disk.crash_in = None
            server.start()

        self._later(fault, start)

    def _power_server(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.lose_power()

        def back() -> None:
            server.boot()
            server.start()

        self._later(fault, back)

    def _stall_server(self, fault: Fault) -> None:
        process = self._servers[fault.server].process
        if process is not None and process.is_alive:
            process.stop_running()
            self._later(fault, process.go_on)

    def _move_wall_clock(self, fault: Fault) -> None:
        clock = self._servers[fault.server].clock
        sign = 1 if fault.amount > 0.5 else -1
        clock.wall_ms += sign * min(WALL_JUMP_MS_MAX, int(fault.lasts_ms * (1 + fault.amount * 1_000)))

    def _fill_disk(self, fault: Fault) -> None:
        disk = self._servers[fault.server].disk
        disk.is_full = True
        self._later(fault, lambda: setattr(disk, "is_full", False))

    def _break_disk(self, fault: Fault) -> None:
        disk = self._servers[fault.server].disk
        disk.is_broken = True
        self._later(fault, lambda: setattr(disk, "is_broken", False))

    def _slow_disk(self, fault: Fault) -> None:
        server = self._servers[fault.server]
        server.slow_us = int(fault.amount * SLOW_DISK_US_MAX)
        self._later(fault, lambda: setattr(server, "slow_us", 0))

    def _stop_broker(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        broker.stop()
        self._later(fault, broker.start)

    def _kill_broker(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        broker.kill()
        self._later(fault, broker.start)

    def _power_broker(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        host = broker.host
        broker.lose_power()

        def back() -> None:
            self._network.down.discard(host)
            broker.start()

        self._later(fault, back)

    def _stall_broker(self, fault: Fault) -> None:
        process = self._brokers[fault.broker].process
        if process is not None and process.is_alive:
            process.stop_running()
            self._later(fault, process.go_on)

    def _move_broker(self, fault: Fault) -> None:
        """It is killed, or loses its power, and comes back with another address."""
        broker = self._brokers[fault.broker]
        if fault.amount < 0.5:
            broker.kill()
        else:
            broker.lose_power()
        broker.move(f"10.1.{self._world.now_us % 250}.{fault.broker + 1}")
        self._later(fault, broker.start)

    def _change_topics(self, fault: Fault) -> None:
        broker = self._brokers[fault.broker]
        if broker.broker_id == 0:
            broker.change_topics()

    def _cut_link(self, fault: Fault) -> None:
        host, server = self._brokers[fault.broker].host, self._servers[fault.server].host
        self._network.cut(host, server)
        self._later(fault, lambda: self._network.mend(host, server))

    def _slow_link(self, fault: Fault) -> None:
        link = self._network.link(self._brokers[fault.broker].host, self._servers[fault.server].host)
        link.slow_us = int(fault.amount * SLOW_US_MAX)
        self._later(fault, lambda: setattr(link, "slow_us", 0))

    def _restart_all(self, fault: Fault) -> None:
        for number, server in enumerate(self._servers):
            server.kill()
            self._world.after(int((fault.lasts_ms * 1000) * (1 + number * fault.amount / 10)), server.start)
