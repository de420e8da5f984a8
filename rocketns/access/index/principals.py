"""All tables of a policy's principals: up to 1,000 of them, with 4,096 networks and 10,000 keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rocketns.access.index.certificates import Certificates
from rocketns.access.index.networks import Networks
from rocketns.access.principal import NOBODY, Principal


class Index:
    """Of the principals of one policy, which never change. Their names differ."""

    def __init__(self, principals: Iterable[Principal]) -> None:
        listed = tuple(principals)
        self.networks = Networks(listed)
        self.certificates = Certificates(listed)
        self._places = {principal.name: (place, principal) for place, principal in enumerate(listed)}
        by_key: defaultdict[str, set[str]] = defaultdict(set)
        for principal in listed:
            for key in principal.keys:
                by_key[key].add(principal.name)
        self._by_key = dict(by_key)

    def candidates(self, key: str | None, *others: Iterable[str]) -> list[Principal]:
        """Those that name the key, and the others of which the names are given, as the policy orders them."""
        names = self._by_key.get(key, NOBODY) if key is not None else NOBODY
        places = sorted(self._places[name] for name in NOBODY.union(names, *others) if name in self._places)
        return [principal for _, principal in places]
