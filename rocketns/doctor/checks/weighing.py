"""How heavy a fault of some brokers is for the question asked."""

from __future__ import annotations

from collections.abc import Set

from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Weight


def weight_of_brokers(facts: Facts, ill: Set[str]) -> Weight:
    """Brokers by name. EXPLAINS where a topic that was asked for, or without one the fleet, has no other broker."""
    topics = [names for topic in facts.options.topics if (names := facts.queues(topic).keys())]
    if not facts.options.topics:
        return Weight.EXPLAINS if facts.groups.keys() <= ill else Weight.PARTLY
    if any(names <= ill for names in topics):
        return Weight.EXPLAINS
    return Weight.PARTLY if any(names & ill for names in topics) else Weight.ELSEWHERE
