"""White lists of RocketMQ 4: the networks of an entry are the addresses that Java's own class lets in."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.rocketmq.maven import jars, missing_tools
from rocketns.access.principal import contains
from rocketns.access.reading.white_list import networks_of
from rocketns.addresses import literal

VERSION = "4.9.7"
REFUSED = "refused"
JAVA_TIMEOUT_S = 120

ADDRESSES = (
    "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.20", "10.0.0.21", "10.0.0.255", "10.0.1.1", "10.0.3.7", "10.0.4.7",
    "10.1.0.1", "10.9.200.3", "100.0.0.1", "11.0.0.1", "192.168.0.1", "2001:db8::1", "2001:db8::ac5:78:1:5",
    "2001:db8::ac5:78:200:ffff", "2001:db8::ac5:78:201:0", "2001:db8:0:0:0:0:0:ffff", "::1", "2001:DB8::1",
)  # fmt: skip
# What both read the same way, or both refuse.
SAME = (
    "*", "*.*.*.*", "*:*:*:*:*:*:*:*", "", "   ", "10.0.0.1", "10.0.0.*", "10.0.0.1-20", "10.0.0.0-255", "10.0.*.*",
    "10.0.1-3.*", "10.*.*.*", "10.0-9.*.*", "10.0.0.{1,2}", "10.0.0.{1}", "10.0.0.1,10.0.0.20", "2001:db8::1",
    "2001:DB8::1", "2001:db8::{1,2}", "2001:db8::ac5:78:1-200:*",
    "2001:db8::1,10.0.0.1", "10.0.0", "10.0.0.256", "10.0.0.01", "a", "10.0.0.20-1", "10.0.0.-5",
    "10.0.0.1-", "10.0.0.1-300", "10.0.{0,1}.1", "10.0.0.{1,x}", "2001:db8::*:1", "2001:db8::g",
    "10.0.0.1;10.0.0.2", "10.0.0.1/24", "localhost", "-", "10.0.0.a-b",
)  # fmt: skip
# Here they are refused. Java reads of them as much as it understands, and lets in more or less than they say.
REFUSED_HERE = (
    "10.*.0.*", "10.*.0.1", "10.0.1-3.7", "10.0.*", "10.0.0.*.5", "10.0.0.1-2-3", "10.0.0.1-2-3x", "*.0.0.1",
    "10-11.0.0.*", "1.2.3.4.{5}",
)  # fmt: skip
# Java counts the groups before :: only, and lets all of 2001:db8::/48 in.
NARROWER_HERE = ("2001:db8::*", "2001:db8::0-5")
# Java refuses them: blanks after commas.
READ_HERE = ("10.0.0.1, 10.0.0.2", "10.0.0.{1, 2}", " 10.0.0.1 ")


def here(entry: str, address: str) -> str:
    """As WhiteLists.java prints it."""
    try:
        return str(contains(tuple(networks_of(entry)), literal(address))).lower()
    except ValueError:
        return REFUSED


@pytest.fixture(scope="module")
def java() -> dict[tuple[str, str], str]:
    """What RemoteAddressStrategyFactory says of all entries and addresses."""
    missing = missing_tools()
    if missing:
        pytest.skip(f"not found: {', '.join(missing)}; the white lists are not compared with Java's")
    asked = list(product((*SAME, *REFUSED_HERE, *NARROWER_HERE, *READ_HERE), ADDRESSES))
    command = ["java", "-cp", jars(f"rocketmq-acl-{VERSION}", VERSION, "rocketmq-acl"),
               str(Path(__file__).with_name("WhiteLists.java"))]  # fmt: skip
    lines = "".join(f"{entry}\t{address}\n" for entry, address in asked)
    ended = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=JAVA_TIMEOUT_S)
    return dict(zip(asked, ended.stdout.split(), strict=True))


@pytest.mark.java
@pytest.mark.parametrize("entry", SAME)
def test_an_entry_lets_in_whom_java_lets_in(java: dict[tuple[str, str], str], entry: str) -> None:
    assert [here(entry, address) for address in ADDRESSES] == [java[entry, address] for address in ADDRESSES]


@pytest.mark.java
@pytest.mark.parametrize("entry", REFUSED_HERE)
def test_an_entry_that_says_two_things_is_refused(java: dict[tuple[str, str], str], entry: str) -> None:
    assert {here(entry, address) for address in ADDRESSES} == {REFUSED}
    assert {java[entry, address] for address in ADDRESSES} != {"true"}


@pytest.mark.java
@pytest.mark.parametrize("entry", NARROWER_HERE)
def test_a_group_is_one_group(java: dict[tuple[str, str], str], entry: str) -> None:
    let_in, by_java = ({one for one in ADDRESSES if answer(one) == "true"}
                       for answer in (lambda one: here(entry, one), lambda one: java[entry, one]))  # fmt: skip
    assert let_in < by_java
    assert let_in <= {"2001:db8::1", "2001:DB8::1", "2001:db8:0:0:0:0:0:ffff"}


@pytest.mark.java
@pytest.mark.parametrize("entry", READ_HERE)
def test_blanks_in_a_list_mean_nothing(java: dict[tuple[str, str], str], entry: str) -> None:
    assert {java[entry, address] for address in ADDRESSES} == {REFUSED}
    assert [here(entry, address) for address in ADDRESSES] == [
        here(entry.replace(" ", ""), address) for address in ADDRESSES
    ]


@given(st.text(alphabet="0123456789abf.:*-{}, %", max_size=24))
def test_any_entry_is_read_or_refused_by_a_value_error(entry: str) -> None:
    here(entry, "10.0.0.1")
