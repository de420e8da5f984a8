"""rocketns beside the real Java name server: every scenario in a form that is not recorded, starts, random sequences.

tests/golden replays all scenarios without Java.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from interop.harness.ports import has_ipv6
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import JavaNameServer, RocketnsServer
from interop.parity import sequences
from interop.parity.compare import Difference
from interop.parity.groups import GROUPS, live, pair_of, play
from interop.parity.language import JSON_513
from interop.parity.sequences import SEEDS, STEPS
from interop.parity.starts import STARTS, Start, differing, start
from interop.traffic import corpus
from tests.support.histories import as_text, shrink

pytestmark = [pytest.mark.slow, pytest.mark.needs("java", "javac", "mvn"), pytest.mark.timeout(1800)]
# Each may wait a minute for both to become equal.
TRIES_MAX = 15


def _of(group: str) -> pytest.param:  # type: ignore[valid-type]
    return pytest.param(group, marks=pytest.mark.xdist_group(f"parity-{group}"))


@pytest.mark.parametrize("group", [_of(group) for group in GROUPS])
def test_both_servers_answer_alike(group: str, tmp_path: Path) -> None:
    """The rows that the scenarios name."""
    seed = random.randrange(1 << 32)
    print(f"forms of seed {seed}")
    for wrong in live(group, tmp_path, random.Random(seed)):
        assert not wrong, wrong


@pytest.mark.parametrize("one", [one for one in STARTS if has_ipv6() or not one.needs_ipv6], ids=lambda one: one.name)
def test_both_programs_start_alike(one: Start, tmp_path: Path) -> None:
    """The rows that the start names."""
    found = differing(one, *(start(one, kind, tmp_path / kind.kind) for kind in (JavaNameServer, RocketnsServer)))
    assert bool(found) == bool(one.differs), f"{one.name}: {found}, listed as {one.differs or 'none'}"


@pytest.mark.parametrize("seed", SEEDS)
def test_both_servers_stay_alike(seed: str, tmp_path: Path) -> None:
    """Every answer, and everything that can be asked, after any of 200 random steps."""
    with pair_of("base-headers", tmp_path, with_java=True) as pair:

        def differences(numbers: list[int]) -> list[Difference]:
            return play(pair, sequences.scenario(seed, numbers), JSON_513)

        if found := differences(list(range(STEPS))):
            short = shrink(range(STEPS), lambda numbers: bool(differences(numbers)), TRIES_MAX)
            again = f"python -m interop.parity --seed {seed} --steps {as_text(short)}"
            pytest.fail(f"play it again: {again}\n\n" + "\n\n".join(map(str, differences(short) or found)))


def test_java_answers_real_clients_as_recorded(fleet: Fleet) -> None:
    result = corpus.play(fleet.java())
    assert result.differing == []
    assert result.judged > 100
