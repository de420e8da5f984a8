"""The Java name server still answers the recorded traffic as it did."""

from __future__ import annotations

from interop.harness.sending.fleet import Fleet
from interop.traffic.corpus import play


def test_java_answers_real_clients_as_recorded(fleet: Fleet) -> None:
    result = play(fleet.java())
    assert result.shown == []
    assert result.number > 100
