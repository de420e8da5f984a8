"""Token buckets, and those of principals: how many of its requests are answered in a second.

A bucket has one second's worth of tokens. It is one number: the time until which its tokens are spent (the virtual
scheduling of ITU-T I.371, also called GCRA).
"""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.access.principal import Principal

NS_PER_MS = 1_000_000
SECOND_NS = 1_000_000_000


def cost_ns(per_second: int) -> int:
    """The time of one token, rounded down so that a full bucket has all its tokens; 0 without a limit."""
    return SECOND_NS // per_second if per_second else 0


def spend(spent_until_ns: int, cost: int, now_ns: int) -> int | None:
    """Take a token of this cost: the time until which the bucket's tokens are spent then. None if it is empty."""
    spent_ns = min(max(spent_until_ns, now_ns), now_ns + SECOND_NS) + cost
    return None if spent_ns > now_ns + SECOND_NS else spent_ns


class PrincipalRates:
    """A bucket for each principal that has a rate. Of a request that several may send, one of them needs room."""

    def __init__(self) -> None:
        self._spent_until_ns: dict[str, int] = {}

    def take(self, principals: Sequence[Principal], now_ms: int) -> bool:
        """Take a token of the first bucket that has one, and none where a principal has no rate. False if all buckets
        are empty.
        """
        rates = [(one.name, one.requests_per_second) for one in principals if one.requests_per_second is not None]
        return len(rates) < len(principals) or any(self._take(name, rate, now_ms) for name, rate in rates)

    def _take(self, name: str, rate: int, now_ms: int) -> bool:
        spent = spend(self._spent_until_ns.get(name, 0), cost_ns(rate), now_ms * NS_PER_MS)
        if spent is not None:
            self._spent_until_ns[name] = spent
        return spent is not None
