"""The golden bytes are still what the Java NameServer answers."""

from __future__ import annotations

from interop.capture import OF_NEWEST, record
from interop.golden import store
from interop.golden.newest import differences
from interop.harness.rocketmq.maven import NEWEST
from interop.harness.rocketmq.newest import name_server_classpath

# Hash order, an asynchronous unregistration and both dialects are the most likely to differ between two runs.
SCENARIO = store.load("static-topics")


def test_java_answers_as_recorded() -> None:
    assert record(SCENARIO) == SCENARIO.answers


def test_java_with_the_libraries_of_5_5_1_answers_as_recorded() -> None:
    """Only version number and address differ from 5.5.0's; `python -m interop.newest` plays all scenarios."""
    name = OF_NEWEST[-1]
    answers = record(store.load(name), name_server_classpath())
    assert answers == store.load(name, NEWEST).answers
    assert differences(store.load(name).steps, answers) == []
