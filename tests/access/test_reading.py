"""Reads the text of a policy's file, or gives the text of its refusal."""

from __future__ import annotations

import contextlib
import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import yaml
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.rocketmq.maven import jars, missing_tools
from rocketns.access.classes import RIGHTS, Access, Mode
from rocketns.access.policy import Policy
from rocketns.access.principal import contains
from rocketns.access.reading import plain_acl
from rocketns.access.reading.errors import PolicyError
from rocketns.access.reading.policy_file import read_policy
from rocketns.access.reading.secrets_file import read_secrets
from rocketns.access.reading.white_list import networks_of
from rocketns.addresses import literal


def read(text: str, others: str = "") -> Policy | str:
    """The policy, or the refusal's text. ``others``: what each file that it names has."""
    try:
        return read_policy("policy.toml", text, lambda _path: others)
    except PolicyError as error:
        return str(error)


def read_acl(text: str) -> str:
    """ "" or the refusal's text."""
    try:
        plain_acl.read("plain_acl.yml", text)
    except PolicyError as error:
        return str(error)
    return ""


# The reader of policies: a wrong one is refused with its line, and no refusal shows a secret.

SECRET = "Zq7-hidden-Zq7"
ENTRIES = ("{s}", "'{s}'", '"{s}', '"{s}\\', "*{s}", "&{s}", "!{s}", "!!{s} x", "%{s}", "@{s}", "{s}: x", "[{s}",
           "{{{s}", "|{s}", "{s}\n  - {s}", "\t{s}", "!<{s}> x", "[{s}, {s}]", "- {s}", "? {s}", "{s}\x00",
           "\ud7ff{s}")  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("field", ["secretKey: ", "  secretKey:", "'secretKey' : "])
def test_no_refusal_of_yaml_shows_a_secret(entry: str, field: str) -> None:
    text = f"accounts:\n- accessKey: k1\n  {field}{entry.format(s=SECRET)}\n- accessKey: k1\n  secretKey: {SECRET}\n"
    assert SECRET not in read_acl(text)


TOML_ENTRIES = ("'{s}'", "{s}", "'{s}", '"{s}', '"{s}\\q"', "['{s}']", "{{secret = '{s}'}}", "'''{s}'''", "'''{s}",
                "'{s}' x",
                "'short'\n'{s}'", "'{s}'\nsecret = '{s}'", "1\n{s}", "'{s}'\n[keys.k1]\nsecret = '{s}'")  # fmt: skip


@pytest.mark.parametrize("entry", TOML_ENTRIES)
def test_no_refusal_of_toml_shows_a_secret(entry: str) -> None:
    """Neither does that of a file of secrets."""
    text = f"[modes]\nlookup = 'observe'\nother = 1\n[keys.k1]\nsecret = {entry.format(s=SECRET)}\n"
    refusal = read(text)
    assert isinstance(refusal, str)
    assert SECRET not in refusal


@pytest.mark.parametrize("line", ["k1 {s} more", "k1 {s}\nk1 {s}", "{s}", "'{s}'"])
def test_no_refusal_of_a_file_of_secrets_shows_a_secret(line: str) -> None:
    refusal = read("secrets = 'file'", line.format(s=SECRET))
    assert isinstance(refusal, str)
    assert refusal.startswith("file, line ")
    assert SECRET not in refusal


REFUSED = {
    "a = [": "policy.toml: it is no TOML: Invalid value (at end of document)",
    "a = " + "[" * 100_000: "policy.toml: its lists or tables are nested too deeply",
    "a = " + "9" * 5_000: "policy.toml: it is no TOML: Exceeds the limit",
    "a = 1": "policy.toml, line 1: a: there is no such key",
    "[modes]\n# a\u2028b\nlookup = 'of'": "policy.toml, line 3: modes.lookup: 'of' must be one of off, observe,",
    "[principals.a]\nmay = ['lookup']": "policy.toml, line 1: principals.a: it names neither networks nor keys nor",
    "[principals.a]\nmay = ['all']": "policy.toml, line 2: principals.a.may: 'all' must be one of lookup, read",
    "[principals.a]\nnetworks = ['::1']": "policy.toml, line 1: principals.a.may: it is missing",
    "[principals.a]\nmay = []\nnetworks = ['10.0.0.1/8']": "policy.toml, line 3: principals.a.networks: 10.0.0.1/8 has",
    "[principals.a]\nmay = []\nkeys = ['k']": "policy.toml, line 3: principals.a.keys: no secret of the access key 'k'",
    "[keys.k]\nsecret = '1234567'": "policy.toml, line 1: keys.k: the secret of 'k' has less than 8 characters",
    "[modes]\nadmin = 'enforce'": "policy.toml: principals: there is none, and with these modes nobody may admin",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_a_policy_that_is_wrong_is_refused_with_its_line(text: str) -> None:
    refusal = read(text)
    assert isinstance(refusal, str)
    assert refusal.startswith(REFUSED[text])


def test_a_server_may_observe_before_anybody_is_named() -> None:
    """From what it then says of requests, an operator writes the first principals."""
    policy = read("[modes]\nlookup = 'observe'\nadmin = 'observe'")
    assert isinstance(policy, Policy)
    assert (policy.principals, policy.mode_of(Access.ADMIN)) == ((), Mode.OBSERVE)


ACCOUNT = "accounts:\n- accessKey: k1\n  secretKey: {}\n  admin: {}\n"


@pytest.mark.parametrize("secret", ["12345678", "01234567", "2024-12-13", "1_000_000", "190:20:30", "nullnull"])
def test_a_secret_of_yaml_is_the_text_of_the_file(secret: str) -> None:
    """Not a number, a date, or a time."""
    (_, secrets) = plain_acl.read("plain_acl.yml", ACCOUNT.format(secret, "false"))
    quoted = plain_acl.read("plain_acl.yml", ACCOUNT.format(f"'{secret}'", "false"))[1]
    assert secrets["k1"].signature([b"x"]) == quoted["k1"].signature([b"x"])


@pytest.mark.parametrize(
    ("text", "is_admin"),
    [("true", True), ("True", True), ("yes", True), ("false", False), ("1", False), ("'true '", False),
     ("[true]", False), ("", False)],
)  # fmt: skip
def test_only_true_makes_an_account_an_administrator(text: str, *, is_admin: bool) -> None:
    ((principal,), _) = plain_acl.read("plain_acl.yml", ACCOUNT.format("12345678", text))
    assert (Access.ADMIN in principal.may) is is_admin


# The reader of policies: whatever a file has, there is a policy or a refusal.

KEYS = (
    "modes", "principals", "keys", "secrets", "plain_acl", "secret", "may", "networks", "certificates", "broker_names",
    "addresses", "address_is_peer", "kv_namespaces", "owns", "brokers_max", "takeover", *(one.value for one in RIGHTS),
    "accounts", "accessKey", "secretKey", "whiteRemoteAddress", "admin", plain_acl.GLOBAL, "k1",
)  # fmt: skip
WORDS = (
    "observe", "enforce", "off", "lookup", "broker", "admin", "10.0.0.0/8", "10.0.0.1", "::/0", "*", "10.0.0.1-9",
    "10.0.0.{1,2}", "fe80::1%1", "[z-a]", "[!", "k1", "true", "",
)  # fmt: skip
texts = st.sampled_from(WORDS) | st.text(max_size=20)
keys = st.sampled_from(KEYS) | st.text(max_size=8)
scalars = (
    texts | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.datetimes() | st.dates() | st.times()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=30
)
principals = st.fixed_dictionaries({"may": st.lists(texts, max_size=3)}, optional={
    name: values | st.lists(texts, max_size=3) for name in KEYS[7:16]
})  # fmt: skip
structures = st.dictionaries(keys, values, max_size=5) | st.fixed_dictionaries({}, optional={
    "modes": st.dictionaries(keys, texts, max_size=3),
    "principals": st.dictionaries(keys, principals | values, max_size=3),
    "keys": st.dictionaries(keys, st.fixed_dictionaries({"secret": texts}) | values, max_size=3),
    "secrets": texts, "plain_acl": texts,
})  # fmt: skip


TOKENS = (
    "{", "}", "[", "]", "accounts", ":", "-", "\n", " ", "*a", "&a", "!!int", "!x", "|", "'", '"', "? ", "%", "<<",
    "accessKey: a", "secretKey: b", "0x", "2024-13-45", "\t", "#",
)  # fmt: skip


def as_yaml(value: Any) -> str:
    """The value without what only TOML has."""
    return str(yaml.safe_dump(json.loads(json.dumps(value, default=str))))


@given(st.text(), st.text())
def test_any_text_is_a_policy_or_refused(text: str, others: str) -> None:
    assert isinstance(read(text, others), Policy | str)


@given(structures, st.text() | values.map(as_yaml))
def test_any_toml_is_a_policy_or_refused(structure: dict[str, Any], others: str) -> None:
    assert isinstance(read(tomli_w.dumps(structure), others), Policy | str)


@given(st.text() | values.map(as_yaml) | structures.map(as_yaml))
def test_any_yaml_is_read_or_refused(text: str) -> None:
    read_acl(text)


@given(
    st.lists(
        st.sampled_from(
            [
                "{",
                "}",
                "[",
                "]",
                "accounts",
                ":",
                "-",
                "\n",
                " ",
                "*a",
                "&a",
                "!!int",
                "!x",
                "|",
                "'",
                '"',
                "? ",
                "%",
                "<<",
                "accessKey: a",
                "secretKey: b",
                "0x",
                "2024-13-45",
                "\t",
                "#",
            ]
        )
    )
)
def test_any_tokens_of_yaml_are_read_or_refused(tokens: list[str]) -> None:
    read_acl("".join(tokens))


@given(st.text())
def test_any_file_of_secrets_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(PolicyError):
        read_secrets("secrets", text)


# White lists of RocketMQ 4: the networks of an entry are the addresses that Java's own class lets in.

VERSION = "4.9.7"
REFUSED_WHITE_LISTS = "refused"
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
        return REFUSED_WHITE_LISTS


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
    assert {here(entry, address) for address in ADDRESSES} == {REFUSED_WHITE_LISTS}
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
    assert {java[entry, address] for address in ADDRESSES} == {REFUSED_WHITE_LISTS}
    assert [here(entry, address) for address in ADDRESSES] == [
        here(entry.replace(" ", ""), address) for address in ADDRESSES
    ]


@given(st.text(alphabet="0123456789abf.:*-{}, %", max_size=24))
def test_any_entry_is_read_or_refused_by_a_value_error(entry: str) -> None:
    here(entry, "10.0.0.1")
