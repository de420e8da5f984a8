"""Plays scenarios on a pair, cleans up after each, and repeats until every deliberate difference has shown."""

from __future__ import annotations

from dataclasses import replace

from interop.parity.comparing.cleaning import clean
from interop.parity.comparing.differences import misjudged, seen, shows
from interop.parity.comparing.perform import TooLate, run
from interop.parity.comparing.play import UNTIL_WITHIN_S, Difference, Play
from interop.parity.language import Form, Scenario, Terminate
from interop.parity.pairs.listeners import Listeners
from interop.parity.pairs.pair import Pair
from interop.parity.pairs.side import Side
from interop.parity.requests import Writer

# With a planted fault, there is no point in waiting long for equality.
TAMPERED_WITHIN_S = 1.0
PLAYS_MAX = 20


def play(pair: Pair, scenario: Scenario, form: Form, tampered: Side | None = None) -> list[Difference]:
    """Play on Java and every mode of rocketns and clean up; where they differ.

    ``tampered`` stands between the play and one of the servers; that one's differences are then what is wanted.
    """
    number = next(pair.numbers)
    listeners = Listeners(scenario.listeners, [side.server.pid for side in pair.sides])
    one = Play(
        scenario,
        Writer(form, number, listeners.ports),
        pair.java,
        [side if tampered is None or side.server is not tampered.server else tampered for side in pair.ours],
        listeners,
        UNTIL_WITHIN_S if tampered is None else TAMPERED_WITHIN_S,
        not pair.setup.narrow,
    )
    try:
        return [found for found in run(one) if tampered is None or found.mode == tampered.mode]
    finally:
        listeners.close()
        for side in one.ours:
            side.hang_up_all()
        if any(isinstance(step, Terminate) for step in scenario.steps):
            pair.stop()
        elif pair.are_running():
            clean(pair, one)


def shown(scenario: Scenario, form: Form, differences: list[Difference]) -> str:
    """A failure as readable text, with the command that plays it again."""
    again = f"python -m interop.parity '{scenario.name}[{form}]'"
    return "\n\n".join([f"play it again: {again}", *map(str, differences[:5])])


def play_in_time(pair: Pair, scenario: Scenario, form: Form) -> list[Difference]:
    """Repeat a play until it was quick enough to prove something. TooLate if none of several was."""
    for _ in range(PLAYS_MAX - 1):
        try:
            return play(pair, scenario, form)
        except TooLate as late:
            print(f"{scenario.name}[{form}] is played again: {late}", flush=True)
    return play(pair, scenario, form)


def play_until_seen(pair: Pair, scenario: Scenario, form: Form) -> tuple[list[Difference], list[str]]:
    """Play until every deliberate difference has shown; what else differed in any play, and which never showed.

    Some show only where Java loses a race, so a scenario may be played several times.
    """
    others: list[Difference] = []
    unseen = {(one, side.mode) for side in pair.ours for one in shows(scenario, side.mode)}
    for _ in range(scenario.attempts):
        differences = play_in_time(pair, scenario, form)
        others += [one for one in differences if not seen(one)]
        others += [replace(one, about=wrong) for one in differences if (wrong := misjudged(one))]
        unseen -= {(seen(one), one.mode) for one in differences}
        if not unseen or others:
            break
    return others, [f"{one} ({mode})" if mode else one for one, mode in sorted(unseen)]
