"""A simulation that writes down what happens, and ends with all name servers stopped, so that every file is closed."""

from __future__ import annotations

from pathlib import Path

from rocketns.routeinfo.events import Event
from tests.simulation.audit.files import write_journals
from tests.simulation.audit.truth import Truth
from tests.simulation.filesystem import FileSystem, interposed
from tests.simulation.nameserver import NameServerProcess, substituted
from tests.simulation.simulation import SECOND_US, Case, Errors, Simulation, listening
from tests.simulation.world import Violation

WRITTEN_WITHIN_US = 15 * SECOND_US
STOPPED_WITHIN_S = 60


class AuditedSimulation(Simulation):
    """``truth`` is what happened."""

    def __init__(self, case: Case, files: FileSystem, errors: Errors) -> None:
        self.truth = Truth()
        super().__init__(case, files, errors)
        for server in self.servers:
            server.begun = self.truth.began

    def _conditions_changed(self) -> None:
        super()._conditions_changed()
        self.truth.note()

    def _tables_changed(self, process: NameServerProcess, events: list[Event], before: int) -> None:
        self.truth.changed(process, events)
        super()._tables_changed(process, events, before)

    def _ended(self, process: NameServerProcess) -> None:
        self.truth.ended(process)
        super()._ended(process)

    def run(self) -> None:
        super().run()
        self._mend()
        self._let_pass(WRITTEN_WITHIN_US)
        for _ in range(STOPPED_WITHIN_S):
            alive = [one for one in self.servers if one.process is not None and one.process.is_alive]
            if not alive:
                return
            for server in alive:
                server.stop()
            self._let_pass(SECOND_US)
        raise Violation("a name server does not stop")

    def _mend(self) -> None:
        """Disks, hosts and processes are well again."""
        for server in self.servers:
            server.disk.is_full = server.disk.is_broken = False
            server.disk.crash_in, server.slow_us = None, 0
            server.boot()
            if server.process is not None and server.process.is_stopped:
                server.process.go_on()
            server.start()
        self._conditions_changed()

    def _let_pass(self, us: int) -> None:
        self.world.run_until(self.world.now_us + us)


def run_into(case: Case, folder: Path) -> Truth:
    """Run a case, and write its journals to the folder. `Violation` where another invariant does not hold."""
    files, errors = FileSystem(), Errors()
    with interposed(files), listening(errors):
        simulation = AuditedSimulation(case, files, errors)
        with substituted(simulation.world):
            simulation.run()
    write_journals(simulation.servers, folder)
    return simulation.truth
