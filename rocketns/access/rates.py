"""How many requests of a principal are answered in a second: a token bucket for each principal that has a rate."""

from __future__ import annotations

from rocketns.access.principal import Principal

NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000


class PrincipalRates:
    """A bucket has one second's worth of tokens. It is one number: the time until which its tokens are spent."""

    def __init__(self) -> None:
        self._spent_until_ns: dict[str, int] = {}

    def take(self, principal: Principal, now_ms: int) -> bool:
        """Take a token; False where the bucket is empty. A principal without a rate always has one."""
        rate = principal.requests_per_second
        if rate is None:
            return True
        now_ns = now_ms * NS_PER_MS
        spent_until = max(self._spent_until_ns.get(principal.name, 0), now_ns) + NS_PER_S // rate
        if spent_until > now_ns + NS_PER_S:
            return False
        self._spent_until_ns[principal.name] = spent_until
        return True
