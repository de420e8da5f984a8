"""The golden bytes are still what the Java NameServer answers."""

from __future__ import annotations

from interop.capture import record
from interop.golden import store

# Hash order, an asynchronous unregistration and both dialects are the most likely to differ between two runs.
SCENARIO = "static-topics"


def test_java_answers_as_recorded() -> None:
    assert record(SCENARIO) == [step.answer for step in store.load(SCENARIO)]
