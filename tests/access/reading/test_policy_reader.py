"""The reader of policies: a wrong one is refused with its line, and no refusal shows a secret."""

from __future__ import annotations

import pytest

from rocketns.access.classes import Access, Mode
from rocketns.access.policy import Policy
from rocketns.access.reading import plain_acl
from tests.access.reading.texts import read, read_acl

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
