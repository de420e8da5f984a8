"""How often each request may be sent to one address. What has no row is never sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import IntEnum

from rocketns.doctor.facts import DoctorOptions
from rocketns.errors import RocketnsError

RETRY_PREFIX = "%RETRY%"  # MixAll.RETRY_GROUP_TOPIC_PREFIX


class OverBudgetError(RocketnsError):
    """A request that may not be sent, or not so often: a fault of the doctor."""


class RequestBudget:
    """``most`` is how often each kind may be sent to one address. A kind is a request code, or ``connect``."""

    def __init__(self, most: Mapping[int | str, int]) -> None:
        self._most = dict(most)
        self._sent: Counter[tuple[str, int | str]] = Counter()

    def spend(self, addr: str, kind: int | str) -> None:
        """One more is sent to an address. OverBudgetError, and nothing is counted, where it may not be sent."""
        if self._sent[addr, kind] >= self._most.get(kind, 0):
            raise OverBudgetError(f"{kind} may be sent to {addr} at most {self._most.get(kind, 0)} times")
        self._sent[addr, kind] += 1

    @property
    def requests(self) -> int:
        """How many were sent."""
        return sum(count for (_addr, kind), count in self._sent.items() if kind != "connect")


CONNECTS_MAX = 2  # to one address: the second one finds out whether it speaks TLS where the first one did not, or does
# An offset is told to the broker each five seconds (persistConsumerOffsetInterval of a client).
LOOK_AGAIN_AFTER_S = 6.0


class BrokerRequest(IntEnum):
    """Names and numbers of Java's RequestCode."""

    GET_ALL_TOPIC_CONFIG = 21
    GET_BROKER_CONFIG = 26
    GET_BROKER_RUNTIME_INFO = 28
    GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201
    GET_CONSUMER_CONNECTION_LIST = 203
    GET_CONSUME_STATS = 208
    GET_TOPIC_CONFIG = 351
    GET_SUBSCRIPTIONGROUP_CONFIG = 352


def broker_budget(options: DoctorOptions) -> RequestBudget:
    """What each broker may be asked."""
    groups, topics = len(options.groups), len(options.topics)
    return RequestBudget({
        "connect": CONNECTS_MAX,
        BrokerRequest.GET_BROKER_RUNTIME_INFO: 2,  # one more to tell TLS from plain
        BrokerRequest.GET_BROKER_CONFIG: 1,
        BrokerRequest.GET_TOPIC_CONFIG: topics,
        BrokerRequest.GET_CONSUMER_CONNECTION_LIST: groups,
        BrokerRequest.GET_CONSUME_STATS: 2 * groups * max(1, topics),  # twice, to see whether offsets move
        BrokerRequest.GET_SUBSCRIPTIONGROUP_CONFIG: groups,
        BrokerRequest.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: min(1, groups),
        BrokerRequest.GET_ALL_TOPIC_CONFIG: 1,
    })  # fmt: skip
