"""One run: builds what a seed decides, lets time pass with its faults, and judges every step."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from rocketns.routeinfo.events import BrokerHeartbeat, Event
from tests.simulation.broker import Broker, Group, a_group
from tests.simulation.filesystem import FileSystem, interposed
from tests.simulation.journals import History, Reader, check_closed_files, check_files, check_seeded
from tests.simulation.limits import check_limits, check_slots
from tests.simulation.nameserver import NameServer, NameServerProcess, substituted
from tests.simulation.network import Network
from tests.simulation.peers import Administrator, Client
from tests.simulation.plan import TOPICS, Deployment, Fault, Faults, deployment_of, faults_of, wild_deployment
from tests.simulation.routes import Paths, Routes
from tests.simulation.world import Violation, World
from tests.support import histories
from tests.support.histories import Step, history

SECOND_US = 1_000_000


@dataclass(frozen=True)
class Case:
    """What replays a run: a seed, the faults of its plan that are left out, and when it ends if that is earlier.

    ``wild``: what happens are the steps of a history (`wild`), of this seed or ``steps``, with these
    ``settings`` of the name server.
    """

    seed: int
    without: frozenset[int] = frozenset()
    seconds: int | None = None
    wild: bool = False
    steps: tuple[Step, ...] | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    def plan(self) -> tuple[Deployment, Sequence[Fault | Step]]:
        """The deployment, and all faults of the seed."""
        if self.wild:
            steps = history(str(self.seed)) if self.steps is None else self.steps
            return wild_deployment(Random(f"{self.seed}/wild"), self.settings), steps
        random = World(self.seed).random_of("plan")
        deployment = deployment_of(random)
        return deployment, faults_of(random, deployment)


@dataclass(frozen=True)
class Outcome:
    """``violation`` None: every invariant held. ``digest`` is equal for equal runs."""

    case: Case
    violation: str | None
    at_s: float
    rounds: int
    digest: int


class Errors(logging.Handler):
    """An error of the product that it did not foresee is a violation; one that it foresaw has no stack."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.first: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and self.first is None:
            self.first = f"{record.getMessage()}: {record.exc_info[1]!r}"


class Simulation:
    """The world of one case."""

    def __init__(self, case: Case, files: FileSystem, errors: Errors) -> None:
        self.case = case
        self.world = World(case.seed)
        self.errors = errors
        self.network = Network(self.world)
        self.deployment, faults = case.plan()
        self.faults = [fault for number, fault in enumerate(faults) if number not in case.without]
        self.servers = [
            NameServer(self.world, self.network, files, number, settings)
            for number, settings in enumerate(self.deployment.settings, 1)
        ]
        for number, server in enumerate(self.servers):
            server.buffer_bytes = self.deployment.buffer_bytes[number]
            server.keeps_socket = self.deployment.keeps_socket[number]
        self.brokers = self._make_brokers()
        self.paths = Paths(self.world, self.network, self.servers, self.brokers)
        self.routes = Routes(self.world, self.network, self.servers, self.brokers, self.paths)
        self.readers: dict[NameServerProcess, Reader] = {}
        self.changed: set[NameServerProcess] = set()
        self.histories = {server: History() for server in self.servers}
        self.changed_us: dict[NameServer, int] = {}
        self.digest = 0
        self.admin: Administrator | None = None

    def _make_brokers(self) -> list[Broker]:
        random = self.world.random_of("topics")
        groups: dict[str, Group] = {}
        for member in self.deployment.members:
            if member.name not in groups:
                groups[member.name] = a_group(random, member.name)
        return [
            Broker(self.world, self.network, self.servers, one.kind, groups[one.name], one.broker_id, one.host)
            for one in self.deployment.members
        ]

    def run(self) -> None:
        """Until the end, or a `Violation`."""
        random = self.world.random_of("start")
        self._listen()
        for server in self.servers:
            self.world.at(random.randint(0, 2 * SECOND_US), server.start)
        for broker in self.brokers:
            self.world.at(random.randint(0, 20 * SECOND_US), broker.start)
        for number in range(self.deployment.clients):
            Client(self.world, self.network, self.servers, number, TOPICS)
        self.admin = Administrator(self.world, self.network, self.servers)
        applied = Faults(self.world, self.network, self.servers, self.brokers, self._conditions_changed)
        applied.plan(self.faults)
        self._each_second()
        self.world.run_until((self.case.seconds or self.deployment.seconds) * SECOND_US)
        for server in self.servers:
            check_closed_files(server)

    def _listen(self) -> None:
        for server in self.servers:
            server.changed, server.started, server.ended = self._tables_changed, self._server_started, self._ended
            server.lost_power = self._check_disk
        self.world.after_step = self._after_step

    def _each_second(self) -> None:
        self._conditions_changed()
        self._check_all()
        self.world.after(SECOND_US, self._each_second)

    def _conditions_changed(self) -> None:
        self.paths.update()
        self.routes.note()

    def _server_started(self, process: NameServerProcess) -> None:
        self._conditions_changed()
        if process.journal is not None:
            self.readers[process] = Reader(process, process.journal)
        self._check_kv(process)
        self.histories[process.server].began(process)
        check_seeded(process, self.servers, self.changed_us)

    def _ended(self, process: NameServerProcess) -> None:
        self._conditions_changed()
        self.readers.pop(process, None)
        self._check_disk(process)

    def _check_disk(self, process: NameServerProcess) -> None:
        if process.has_started:
            check_files(process.server, process)
            check_closed_files(process.server)

    def _check_kv(self, process: NameServerProcess) -> None:
        """(e) Every KV item that was answered is there again, or a later one of the same key."""
        table = process.controller.core.context.kv_config.config_table.get("N", {})
        admin = self.admin
        for (name, key), values in admin.accepted.items() if admin is not None else ():
            is_answered = admin is not None and (name, key) in admin.answered
            if name == process.name and is_answered and table.get(key) not in values:
                raise Violation(f"(e) {name} lost {key}: it has {table.get(key)}, answered was {values[0]}")

    def _tables_changed(self, process: NameServerProcess, events: list[Event], before: int) -> None:
        self.routes.changed(process, events)
        if not all(isinstance(event, BrokerHeartbeat) for event in events):
            self.changed.add(process)
            self.changed_us[process.server] = self.world.now_us
            self.histories[process.server].changed(process, before)
            self.digest = hash((self.digest, self.world.now_us, process.name, repr(events)))

    def _after_step(self, process: NameServerProcess) -> None:
        if self.errors.first is not None:
            raise Violation(f"{process.name}: {self.errors.first}")
        if process in self.changed:
            self.changed.clear()
            self._check(process)

    def _check_all(self) -> None:
        for server in self.servers:
            if server.process is not None and server.serves:
                self._check(server.process)
                check_limits(server.process)

    def _check(self, process: NameServerProcess) -> None:
        if process.serves:
            self.routes.check(process.server)
            check_slots(process)
            reader = self.readers.get(process)
            if reader is not None:
                reader.check()


@contextmanager
def listening(errors: Errors) -> Iterator[None]:
    logger = logging.getLogger("rocketns")
    before = logger.level, logger.propagate
    logger.addHandler(errors)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(errors)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def run(case: Case, kind: type[Simulation] = Simulation) -> Outcome:
    """Run a case to its end, or to the first invariant that does not hold."""
    files, errors = FileSystem(), Errors()
    violation = None
    with interposed(files), listening(errors):
        simulation = kind(case, files, errors)
        with substituted(simulation.world):
            try:
                simulation.run()
            except Violation as error:
                violation = str(error)
    world = simulation.world
    return Outcome(case, violation, world.now_s, world.steps, simulation.digest)


def described(case: Case) -> Sequence[str]:
    """The deployment, and the faults that are not left out, one a line."""
    deployment, faults = case.plan()
    lines = [f"{len(deployment.settings)} name servers, {deployment.clients} clients, {deployment.seconds} s"]
    lines += [f"  ns{number}: {settings}" for number, settings in enumerate(deployment.settings, 1)]
    lines += [f"  broker {number}: {one.name}[{one.broker_id}] at {one.host}, {one.kind.name}"
              for number, one in enumerate(deployment.members)]  # fmt: skip
    return lines + [f"  {number:2}: {fault}" for number, fault in enumerate(faults) if number not in case.without]


Run = Callable[[Case], Outcome]
TRIES_MAX = 1_000


def shrink(failed: Outcome, run: Run) -> Outcome:
    """The smallest failing outcome that was found. Its violation may be another sentence of the same invariant."""
    rule = rule_of(failed)
    best = _shorten(failed, run, rule)
    numbers = range(len(best.case.plan()[1]))

    def fails(kept: list[int]) -> bool:
        nonlocal best
        tried = run(replace(best.case, without=frozenset(numbers) - frozenset(kept)))
        is_same = tried.violation is not None and rule_of(tried) == rule
        best = tried if is_same else best
        return is_same

    histories.shrink([number for number in numbers if number not in best.case.without], fails, TRIES_MAX)
    return _shorten(best, run, rule)


def _shorten(outcome: Outcome, run: Run, rule: str) -> Outcome:
    shorter = run(replace(outcome.case, seconds=int(outcome.at_s) + 1))
    return shorter if shorter.violation is not None and rule_of(shorter) == rule else outcome


def rule_of(outcome: Outcome) -> str:
    """The letter of the violated invariant; all other violations count as one rule."""
    text = outcome.violation or ""
    return text[:3] if text.startswith("(") else "other"
