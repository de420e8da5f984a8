"""Plays of scenarios on a pair of servers, each cleaned up after, and until what is to differ has differed."""

from __future__ import annotations

from interop.parity.cleaning import clean
from interop.parity.differences import seen, shows
from interop.parity.language import Form, Scenario, Terminate
from interop.parity.listeners import Listeners
from interop.parity.pair import Pair
from interop.parity.play import UNTIL_WITHIN_S, Difference, Play
from interop.parity.requests import Writer
from interop.parity.side import Side

# Where rocketns is tampered with, equality is not worth waiting for long.
TAMPERED_WITHIN_S = 1.0


def play(pair: Pair, scenario: Scenario, form: Form, rocketns: Side | None = None) -> list[Difference]:
    """Play on both servers and clean up; where they differ. ``rocketns`` may stand between the play and that server."""
    number = next(pair.numbers)
    listeners = Listeners(scenario.listeners, [side.server.pid for side in pair.sides])
    one = Play(
        scenario,
        Writer(form, number, listeners.ports),
        pair.java,
        rocketns or pair.rocketns,
        listeners,
        UNTIL_WITHIN_S if rocketns is None else TAMPERED_WITHIN_S,
    )
    try:
        return one.run()
    finally:
        listeners.close()
        one.rocketns.hang_up_all()
        if any(isinstance(step, Terminate) for step in scenario.steps):
            pair.stop()
        elif pair.are_running():
            clean(pair, one)


def shown(scenario: Scenario, form: Form, differences: list[Difference]) -> str:
    """A failure as a person reads it, with the line that plays it again."""
    again = f"python -m interop.parity '{scenario.name}[{form}]'"
    return "\n\n".join([f"play it again: {again}", *map(str, differences[:5])])


def play_until_seen(pair: Pair, scenario: Scenario, form: Form) -> tuple[list[Difference], list[str]]:
    """Play until every deliberate difference has shown; what else differed in any play, and which never showed.

    Some show only where Java loses a race, so a scenario may be played several times.
    """
    others: list[Difference] = []
    unseen = shows(scenario)
    for _ in range(scenario.attempts):
        differences = play(pair, scenario, form)
        others += [one for one in differences if not seen(one)]
        unseen -= set(map(seen, differences))
        if not unseen or others:
            break
    return others, sorted(unseen)
