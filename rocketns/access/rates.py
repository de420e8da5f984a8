"""Token buckets, and those of principals: how many of its requests are answered in a second.

A bucket has one second's worth of tokens. It is one number: the time until which its tokens are spent (the virtual
scheduling of ITU-T I.371, also called GCRA).
"""

from __future__ import annotations

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
    """A bucket for each principal that has a rate."""

    def __init__(self) -> None:
        self._spent_until_ns: dict[str, int] = {}

    def take(self, principal: Principal, now_ms: int) -> bool:
        """Take a token; False where the bucket is empty. A principal without a rate always has one."""
        rate, spent_until = principal.requests_per_second, self._spent_until_ns.get(principal.name, 0)
        if rate is None:
            return True
        spent = spend(spent_until, cost_ns(rate), now_ms * NS_PER_MS)
        if spent is not None:
            self._spent_until_ns[principal.name] = spent
        return spent is not None
