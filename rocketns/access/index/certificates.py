"""The principals of a certificate: one look for each of its names, unless a pattern matches it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import translate

from rocketns.access.principal import NOBODY, TEXT_CHARACTERS_MAX, Principal


class Certificates:
    """The names of the principals by the names of certificates: those without a wildcard by a table. The others are
    looked at one by one, for names that one pattern of all of them lets pass.
    """

    def __init__(self, principals: Iterable[Principal]) -> None:
        self._exact: defaultdict[str, set[str]] = defaultdict(set)
        self._globs: list[Principal] = []
        wildcards: list[str] = []
        for principal in principals:
            if principal.certificates is None:
                continue
            for name in principal.certificates.literals:
                self._exact[name].add(principal.name)
            if principal.certificates.wildcards:
                self._globs.append(principal)
                wildcards += principal.certificates.wildcards
        self._passes = re.compile("|".join(map(translate, wildcards))).match

    def of(self, names: Iterable[str]) -> frozenset[str]:
        """The principals of which a certificate has one of these names."""
        listed = tuple(names)
        if not listed:
            return NOBODY
        hits = [self._exact.get(name, NOBODY) for name in listed]
        return NOBODY.union(*hits, self._by_globs(listed))

    def _by_globs(self, names: Iterable[str]) -> Iterator[str]:
        passed = [name for name in names if self._globs and len(name) <= TEXT_CHARACTERS_MAX and self._passes(name)]
        for principal in self._globs if passed else ():
            if principal.certificates is not None and any(map(principal.certificates.match, passed)):
                yield principal.name
