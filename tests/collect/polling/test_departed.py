"""Topics of brokers that are gone."""

from __future__ import annotations

import pytest

from rocketns.collect.polling import rounds
from rocketns.collect.polling.rounds import Departed


def test_a_broker_that_comes_back_gives_its_topics_once() -> None:
    gone = Departed()
    gone.put("a", ["T", "U"])
    assert (gone.take("a"), gone.take("a"), gone.take("b")) == (("T", "U"), (), ())


def test_beyond_the_limit_the_broker_that_went_first_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "DEPARTED_TOPICS_MAX", 3)
    gone = Departed()
    for broker in ("a", "b", "c"):
        gone.put(broker, [f"{broker}1"])
    gone.put("d", ["d1"])
    assert [bool(gone.take(broker)) for broker in "abcd"] == [False, True, True, True]
