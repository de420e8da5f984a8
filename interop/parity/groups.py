"""Plays the scenarios of a group one after another, on servers of their own, and cleans up after each: beside Java,
beside its recorded answers, or in order to record them.

A group is a setup; of the setup that most scenarios have, those of one module. Within a group the order is fixed: some
scenarios leave in Java what cannot be taken back.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from interop.harness import codes
from interop.harness.payloads import register_ext
from interop.harness.wire import Client
from interop.parity import tape
from interop.parity.compare import Difference, Question, misjudged, quoted, seen, send_all, shows
from interop.parity.language import EVERY_FORM, VERSIONS, Form, Scenario, Terminate
from interop.parity.play import QUESTIONS, WITHIN_S, Play, run
from interop.parity.requests import DIGITS, Writer
from interop.parity.scenarios import MODULES
from interop.parity.servers import Listeners, Pair, Side, settings
from interop.parity.setups import SETUPS
from interop.parity.tape import Tape

# Java refuses what comes while its queue is full, which a setup makes as short as one: a sweep may remove only half.
SWEEPS_MAX = 50
LONG = range(-(2**63), 2**63)


def _groups() -> dict[str, list[Scenario]]:
    found: dict[str, list[Scenario]] = {}
    for module in MODULES:
        for scenario in module.SCENARIOS:
            module_name = module.__name__.rpartition(".")[2]
            found.setdefault(f"base-{module_name}" if scenario.setup == "base" else scenario.setup, []).append(scenario)
    return found


GROUPS = _groups()
SCENARIOS = {scenario.name: scenario for scenarios in GROUPS.values() for scenario in scenarios}
# Of a scenario's own names; it stays when other scenarios come.
NUMBERS = {name: zlib.crc32(name.encode()) % len(DIGITS) ** 3 for name in SCENARIOS}


def pair_of(group: str, folder: Path, *, with_java: bool) -> Pair:
    return Pair(SETUPS[GROUPS[group][0].setup], folder, with_java=with_java)


def play(pair: Pair, scenario: Scenario, form: Form, recorded: Tape | None = None,
         sides: tuple[Side, ...] = (), within_s: float = WITHIN_S) -> list[Difference]:  # fmt: skip
    """Play on the servers of the pair and clean up; where they differ. ``sides`` stand between the play and them."""
    listeners = Listeners(scenario.listeners, [side.server.pid for side in pair.sides])
    number = recorded.number if recorded else NUMBERS.get(scenario.name, 0)
    one = Play(
        scenario, Writer(form, number, listeners.ports), sides or pair.sides, recorded, listeners,
        within_s, in_one_piece=not pair.setup.narrow, settles=pair.setup.plain,
    )  # fmt: skip
    try:
        return run(one)
    finally:
        listeners.close()
        for side in sides:
            side.hang_up_all()
        if any(isinstance(step, Terminate) for step in scenario.steps):
            pair.stop()
        elif pair.are_running():
            clean(pair, one)


def wrong(scenario: Scenario, form: Form, differences: Sequence[Difference]) -> str:
    """What is not as listed in docs/differences.md, with the command that plays it again; empty if nothing."""
    others = [str(one) for one in differences if not seen(one)]
    others += [f"{one}\n{said}" for one in differences if (said := misjudged(one))]
    others += [f"no longer shows {one}" for one in sorted(shows(scenario) - {seen(one) for one in differences})]
    again = f"python -m interop.parity '{scenario.name}[{form}]'"
    return "\n\n".join([f"play it again: {again}", *others[:5]]) if others else ""


def replay(group: str, folder: Path) -> Iterator[str]:
    """Play a group beside the recorded answers; what is wrong in each play."""
    tapes = tape.load(group)
    missing = {scenario.name for scenario in GROUPS[group]} ^ {one.name for one in tapes}
    assert not missing, f"record again with python -m interop.capture {group}: {missing}"
    with pair_of(group, folder, with_java=False) as pair:
        for one in tapes:
            yield wrong(SCENARIOS[one.name], one.form, play(pair, SCENARIOS[one.name], one.form, one))


def recorded_forms(scenario: Scenario) -> list[Form]:
    """One of its forms; of a scenario that names none two, of both encodings. They stay when other scenarios come."""
    number = NUMBERS[scenario.name]
    if scenario.forms:
        return [scenario.forms[number % len(scenario.forms)]]
    first = EVERY_FORM[number % len(EVERY_FORM)]
    other = VERSIONS[(VERSIONS.index(first.version) + 3) % len(VERSIONS)]
    return [first, Form(not first.binary, other)]


def live(group: str, folder: Path, chance: random.Random) -> Iterator[str]:
    """Play a group beside Java, in forms that are not recorded if there are others. Races of Java are only recorded."""
    with pair_of(group, folder, with_java=True) as pair:
        for scenario in GROUPS[group]:
            if scenario.attempts == 1:
                forms = scenario.forms or EVERY_FORM
                form = chance.choice([one for one in forms if one not in recorded_forms(scenario)] or forms)
                yield wrong(scenario, form, play(pair, scenario, form))


def record(group: str) -> list[str]:
    """Record what Java does in a group; beside rocketns, so that a race of Java is recorded when it shows, and nothing
    before it is applied. What is wrong."""
    found: list[str] = []
    tapes: list[Tape] = []
    with tempfile.TemporaryDirectory() as folder, pair_of(group, Path(folder), with_java=True) as pair:
        for scenario in GROUPS[group]:
            for place, form in enumerate(recorded_forms(scenario)):
                one, differs = _recorded(pair, scenario, form, NUMBERS[scenario.name] + place)
                tapes.append(one)
                found += filter(None, [differs])
    tape.save(group, tapes)
    return found


def _recorded(pair: Pair, scenario: Scenario, form: Form, number: int) -> tuple[Tape, str]:
    for _ in range(scenario.attempts):
        one = Tape(scenario.name, form, number, recording=True)
        differs = wrong(scenario, form, play(pair, scenario, form, one))
        if not differs:
            break
    return one, differs


def clean(pair: Pair, play: Play) -> None:
    """Unregister its brokers, delete its topics and keys, change settings back, close its connections."""
    if not pair.setup.plain:
        for side in pair.sides:
            side.hang_up_all()
        return
    if play.known.settings_changed:
        for side, at_start in zip(pair.sides, pair.at_start, strict=True):
            change_back(side, at_start)
    asked = leftovers(play)
    for side in pair.sides:
        send_all(side, QUESTIONS, asked)
    for side in pair.sides:
        side.receive_many(QUESTIONS, len(asked))
        side.hang_up_all()
        if play.known.brokers:
            sweep(side, side.settle())


def leftovers(play: Play) -> list[Question]:
    known = play.known
    keys = ("clusterName", "brokerAddr", "brokerName", "brokerId")
    asked: list[Question] = [
        (codes.UNREGISTER_BROKER, dict(zip(keys, names, strict=True)), 513)
        for names in sorted(known.brokers)
        if all(names[:3]) and _is_long(names[3])
    ]
    asked += [(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, 513) for topic in sorted(known.topics)]
    asked += [(codes.DELETE_KV_CONFIG, {"namespace": n, "key": k}, 513) for n, k in sorted(known.keys)]
    return asked


def _is_long(text: str) -> bool:
    """Whether Java reads it as an id. A request without an id makes Java drop the requests that wait with it."""
    return re.fullmatch(r"-?\d+", text, re.ASCII) is not None and int(text) in LONG


def sweep(side: Side, shown: bytes) -> None:
    """Remove a name that was in two clusters, and a group that had no broker: register it there, then unregister it."""
    for _ in range(SWEEPS_MAX):
        info = json.loads(quoted(shown))
        if not (info["brokerAddrTable"] or any(map(_names, info["clusterAddrTable"].values()))):
            return
        with side.fresh() as client:
            for cluster, names in info["clusterAddrTable"].items():
                for name in _names(names):
                    _take_back(client, cluster, name, info["brokerAddrTable"].get(name, {}).get("brokerAddrs", {}))
        shown = side.settle()


def _names(listed: list[str | None]) -> list[str]:
    """A play that leaves the null of a registration without a name cannot be cleaned up."""
    return [name for name in listed if name is not None]


def _take_back(client: Client, cluster: str, name: str, addrs: dict[str, str]) -> None:
    if not addrs:
        addrs = {"0": f"{name}:1"}
        client.request(codes.REGISTER_BROKER, register_ext(cluster, name, addrs["0"]) | {"bodyCrc32": "0"})
    for broker_id, addr in addrs.items():
        client.request(codes.UNREGISTER_BROKER, register_ext(cluster, name, addr, int(broker_id)))


def change_back(side: Side, at_start: dict[str, str]) -> None:
    """Give every setting the value that it had when the servers started."""
    now = settings(side.server.port)
    changed = {key: value for key, value in at_start.items() if now.get(key) != value}
    if changed:
        text = "".join(f"{key}={_escaped(value)}\n" for key, value in changed.items())
        with side.fresh() as client:
            client.request(codes.UPDATE_NAMESRV_CONFIG, None, text.encode("latin-1"))


def _escaped(value: str) -> str:
    """A value as Java's properties text has it."""
    ascii_only = value.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode("ascii")
    return ascii_only.replace("\n", "\\n")
