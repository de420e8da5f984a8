"""What the stranger draws: the same for a seed, in every process, and in time everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from interop.harness.servers import RocketnsServer
from tests.hostile.frames import CODES
from tests.hostile.stranger import attacks, listeners
from tests.hostile.stranger.grammar import bodies, http, names
from tests.hostile.stranger.grammar.acts import STEPS, act_of, size
from tests.hostile.stranger.honest import LISTED, REGISTRATION, Failure, Wait
from tests.hostile.stranger.judging.bounds import GAUGES, GROWTH_MAX, LEFT_MAX
from tests.hostile.stranger.judging.gauges import Gauges
from tests.hostile.stranger.judging.outcome import Outcome
from tests.hostile.stranger.steps import BYTES_MAX, DOORS, KNOWN, step_of
from tests.hostile.stranger.strangers import Played

ROOT = Path(__file__).resolve().parents[3]
MANY = 400
DRAWN = "from tests.hostile.stranger.steps import step_of; [print(repr(step_of(7, n).data)) for n in (3, 40)]"


def test_a_step_is_the_same_in_every_process() -> None:
    twice = [subprocess.run([sys.executable, "-c", DRAWN], cwd=ROOT, check=True, capture_output=True).stdout
             for _ in range(2)]  # fmt: skip
    assert twice[0] == twice[1]
    assert len(twice[0]) > 100


def test_all_doors_attacks_codes_and_ends_are_drawn_in_time() -> None:
    """Of small acts only, which take no time to draw."""
    small = [act for act in range(700) if (one := act_of(1, act * STEPS)).longest <= 300 and one.most <= 40]
    drawn = [step_of(1, act * STEPS + number) for act in small for number in range(STEPS)]
    assert {step.door for step in drawn} == set(DOORS)
    assert len({step.attack for step in drawn if step.door == KNOWN}) > len(attacks.ATTACKS) // 2
    assert {step.end for step in drawn} == {"close", "half-close", "reset"}
    kinds = {frame.kind for step in drawn for frame in step.frames}
    assert kinds >= {str(code) for code in CODES} | {"unknown code"}
    assert kinds & set(http.MANAGEMENT)
    assert kinds & set(http.ADDRESS)


def test_a_step_sends_a_bounded_number_of_bytes() -> None:
    steps = [step_of(2, number) for number in range(0, MANY * STEPS // 8, STEPS)]
    assert max(len(step.data) * step.repeats * step.connections for step in steps) <= BYTES_MAX


def test_sizes_are_of_all_magnitudes() -> None:
    chance = Random(1)
    drawn = [size(chance, 1_000_000) for _ in range(MANY)]
    assert {len(str(one)) for one in drawn} == set(range(1, 8))
    assert max(drawn) == 1_000_000


def test_no_name_is_that_of_an_honest_peer() -> None:
    act, chance = act_of(3, 0), Random(1)
    for _ in range(MANY):
        drawn = names.name(act, chance, "broker")
        assert not drawn.startswith(f"{names.HONEST}-broker-") or not drawn[-1].isdigit()


@pytest.mark.parametrize("draw", [*bodies.REGISTRATIONS, *bodies.OTHERS], ids=lambda draw: draw.__name__)
def test_a_body_fits_into_a_frame(draw: bodies.Body) -> None:
    act, chance = act_of(4, 0), Random(1)
    assert max(len(draw(act, chance)) for _ in range(5)) <= 40 * bodies.BYTES_MAX


def test_every_behaviour_of_a_listener_is_drawn() -> None:
    drawn = {Random(number).choice(act_of(1, number * STEPS).some("behaviours of brokers", listeners.BEHAVIOURS))
             for number in range(100)}  # fmt: skip
    assert drawn == set(listeners.BEHAVIOURS)


LATE = Wait(10.2, 11.4, 1.5)
TOLD = "rocketns_journal_waiting_bytes"


def _gauges(more: int = 0) -> Gauges:
    gauges = Gauges()
    told = {name: most + more * (name == TOLD) for name, most in GAUGES.items()}
    gauges.note("".join(f"# TYPE x\n{name} {number}\n" for name, number in told.items()).encode(), 11.0)
    return gauges


def _played() -> list[Played]:
    return [Played(17, "step 17: plain: 103", 10.0, 11.0), Played(40, "step 40: tls: 105", 30.0, 31.0)]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(1, "asyncio", waits={REGISTRATION: [LATE]}), f"{REGISTRATION} waited 1200.0 ms"),
        (Outcome(1, "asyncio", waits={LISTED: [Wait(10.2, 13.4, 9.0)]}), f"{LISTED} waited 3200.0 ms"),
        (
            Outcome(1, "asyncio", waits={REGISTRATION: [Wait(10.0, 16.0, 0.1)]}),
            f"{REGISTRATION} waited 100.0 ms (6000.0",
        ),
        (Outcome(1, "asyncio", gauges=_gauges(1)), "waiting_bytes was"),
        (Outcome(1, "asyncio", failures=[Failure("who stays: closed by the server", 12.0)]), "closed by the server"),
        (Outcome(1, "asyncio", growth=GROWTH_MAX + 1, grew_at_s=11.0), "MB at the peak"),
        (Outcome(1, "asyncio", left=LEFT_MAX + 1), "MB kept"),
        (Outcome(1, "asyncio", journal=1 << 30, seconds=1.0), "the journal grew"),
        (Outcome(1, "asyncio", log=1 << 30, totals={"frames": {"plain": 10}}), "the log grew"),
        (Outcome(1, "asyncio", wrong=["exit status 1"]), "exit status 1"),
    ],
    ids=["wait", "list", "sleep", "gauge", "closed", "peak", "kept", "journal", "log", "remains"],
)
def test_each_bound_is_judged(outcome: Outcome, said: str) -> None:
    if not outcome.gauges.most:
        outcome.gauges = _gauges()
    assert [said in fault for fault in outcome.faults()] == [True]


def test_a_fault_says_which_steps_to_play_again() -> None:
    outcome = Outcome(9, RocketnsServer.mode, waits={REGISTRATION: [LATE]}, played=_played(), gauges=_gauges())
    (fault,) = outcome.faults()
    assert "--seed 9 --mode reactors --steps 16-17" in fault
    assert "step 17: plain: 103" in fault
    assert "step 40" not in fault
