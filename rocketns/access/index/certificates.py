"""The principals of a certificate: one look for each of its names, unless a pattern matches it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate

from rocketns.access.principal import NOBODY, TEXT_CHARACTERS_MAX, Principal

Matches = Callable[[str], re.Match[str] | None]

# The first of them tells what kind of name a text is: CN=ops, ops@acme.com, spiffe://acme/ops or 2001:db8::1, and
# without any a host, an IPv4 address, or a part of them.
_MARK = re.compile("[=@:]")
ANY = "*"  # of any kind


def kind_of_name(text: str) -> str:
    """The mark of a name, or of a pattern. A pattern matches only names of its kind: whoever may have a certificate for
    a mail address or a URI may choose most of it.
    """
    mark = _MARK.search(text)
    return "" if mark is None else mark[0]


class Certificates:
    """The names of the principals by the names of certificates: those without a wildcard by a table. The others are
    looked at one by one, for names that one pattern of all of their kind lets pass.
    """

    def __init__(self, principals: Iterable[Principal]) -> None:
        self._exact: defaultdict[str, set[str]] = defaultdict(set)
        self._globs: defaultdict[str, list[tuple[Matches, str]]] = defaultdict(list)
        wildcards: defaultdict[str, list[str]] = defaultdict(list)
        for principal in principals:
            if principal.certificates is None:
                continue
            for name in principal.certificates.literals:
                self._exact[name].add(principal.name)
            for glob in principal.certificates.wildcards:
                for kind in ("", "=", "@", ":") if glob == ANY else (kind_of_name(glob),):
                    wildcards[kind].append(translate(glob))
                    self._globs[kind].append((re.compile(translate(glob)).match, principal.name))
        self._passes: dict[str, Matches] = {
            kind: re.compile("|".join(patterns)).match for kind, patterns in wildcards.items()
        }

    def of(self, names: Iterable[str]) -> frozenset[str]:
        """The principals of which a certificate has one of these names."""
        listed = tuple(names)
        if not listed:
            return NOBODY
        hits = [self._exact.get(name, NOBODY) for name in listed]
        return NOBODY.union(*hits, self._by_globs(listed))

    def _by_globs(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            passes = self._passes.get(kind := kind_of_name(name))
            if passes is not None and len(name) <= TEXT_CHARACTERS_MAX and passes(name):
                yield from (principal for matches, principal in self._globs[kind] if matches(name))
