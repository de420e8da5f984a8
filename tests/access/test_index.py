"""The index of a policy's principals gives those that a look at each of them gives."""

from __future__ import annotations

from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network

from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.access.classes import Access
from rocketns.access.decision import Evidence, is_known, known
from rocketns.access.policy import Policy
from rocketns.access.principal import TEXT_CHARACTERS_MAX, Globs, Network, Principal
from rocketns.access.signing.signature import Signed
from rocketns.addresses import Address

# Few bits differ, so that networks often contain an address, and each other.
ADDRESSES = st.one_of(
    st.integers(0, 15).map(lambda low: ip_address("10.0.0.0") + low),
    st.integers(0, 15).map(lambda low: ip_address("2001:db8::") + (low << 62)),
    st.sampled_from([ip_address("255.255.255.255"), ip_address("0.0.0.0"), ip_address("::"), ip_address("::1")]),
)
NAMES = st.text("ab*?[]!-", max_size=4)
KEYS = st.sampled_from("kl")


@st.composite
def networks(draw: st.DrawFn) -> Network:
    address = draw(ADDRESSES)
    return ip_network((address, draw(st.integers(0, address.max_prefixlen))), strict=False)


PRINCIPALS = st.lists(
    st.builds(
        Principal, name=st.text("pq", min_size=1, max_size=3), may=st.just(frozenset({Access.LOOKUP})),
        networks=st.lists(networks(), max_size=4).map(tuple), keys=st.frozensets(KEYS),
        certificates=st.none() | st.lists(NAMES, max_size=3).map(Globs),
    ),
    max_size=6, unique_by=lambda principal: principal.name,
)  # fmt: skip


def looked_at_each(principals: list[Principal], address: Address | None) -> set[str]:
    return {
        one.name for one in principals for network in one.networks
        if address is not None and address.version == network.version and address in network
    }  # fmt: skip


@given(PRINCIPALS, st.none() | ADDRESSES)
def test_an_address_has_the_principals_whose_networks_contain_it(
    principals: list[Principal], address: Address | None
) -> None:
    assert Policy(tuple(principals)).index.networks.of(address) == looked_at_each(principals, address)


@given(PRINCIPALS, st.lists(NAMES, max_size=3))
@example([Principal("p", frozenset(), certificates=Globs(["a[b"]))], ["a[b"])
def test_a_certificate_has_the_principals_that_name_it(principals: list[Principal], names: list[str]) -> None:
    expected = {
        one.name for one in principals if one.certificates is not None
        for glob in one.certificates.globs for name in names if fnmatchcase(name, glob)
    }  # fmt: skip
    assert Policy(tuple(principals)).index.certificates.of(names) == expected


@given(PRINCIPALS, st.none() | ADDRESSES, st.lists(NAMES, max_size=2), st.none() | KEYS, st.sampled_from(Signed))
def test_a_peer_is_known_as_those_that_it_is(
    principals: list[Principal], address: Address | None, names: list[str], key: str | None, signed: Signed
) -> None:
    policy = Policy(tuple(principals))
    index = policy.index
    evidence = Evidence(address, index.networks.of(address), index.certificates.of(names), key, signed)
    assert known(policy, evidence) == [one for one in principals if is_known(one, evidence)]


def test_a_text_of_megabytes_is_not_compared() -> None:
    """A pattern takes most of a second for a name of 15 MB, which any peer may send."""
    globs = Globs(["*-a*b", "*"])
    assert globs.match("x" * TEXT_CHARACTERS_MAX)
    assert not globs.match("x" * (TEXT_CHARACTERS_MAX + 1))
