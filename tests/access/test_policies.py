"""Policies: what a file of one is read as or refused for, and what happens to it while the server watches it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import yaml
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.rocketmq.maven import jars
from rocketns.access import plain_acl
from rocketns.access.classes import RIGHTS, Access, Mode
from rocketns.access.plain_acl import networks_of
from rocketns.access.policy import Policy
from rocketns.access.policy_file import read_policy
from rocketns.access.policy_values import PolicyError, read_secrets
from rocketns.access.principal import contains
from rocketns.addresses import literal
from rocketns.errors import StartupError
from rocketns.server import following
from rocketns.server.following import AccessFile, FileReading
from tests.support.policies import whole

# Each kind of table and key of a policy; the modes as one that writes policies may put them.
WHOLE = (
    whole("""
        secrets = "secrets"
        [keys.k1]
        secret = "12345678"
        [principals.a]
        may = ["broker"]
        keys = ["k1"]
        networks = ["10.0.0.0/8"]
        broker_names = ["b-*"]
        address_is_peer = true
        requests_per_second = 10
        brokers_max = 100
        [principals.b]
        certificates = ["CN=ops"]
        may = ["admin"]
        kv_namespaces = ["n"]
        [modes]
        admin = "enforce"
        """),
    whole("[principals.a]\nmay = ['lookup']\nnetworks = ['::/0']\n").replace("[modes]", "[ modes ] # last"),
)  # fmt: skip


def read(text: str, others: str = "\n") -> Policy | str:
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


TOML_ENTRIES = ("'{s}'", "{s}", "'{s}", '"{s}', '"{s}\\q"', "['{s}']", "{{secret = '{s}'}}", "'''{s}'''", "'''{s}",
                "'{s}' x",
                "'short'\n'{s}'", "'{s}'\nsecret = '{s}'", "1\n{s}", "'{s}'\n[keys.k1]\nsecret = '{s}'")  # fmt: skip


@pytest.mark.parametrize("field", ["secretKey: ", "  secretKey:", "'secretKey' : "])
def test_no_refusal_shows_a_secret(field: str) -> None:
    """Neither that of plain_acl.yml, nor those of a policy and a file of secrets."""
    for entry in (one.format(s=SECRET) for one in ENTRIES):
        text = f"accounts:\n- accessKey: k1\n  {field}{entry}\n- accessKey: k1\n  secretKey: {SECRET}\n"
        assert SECRET not in read_acl(text)
    refusals = [
        read(f"[keys.k1]\nsecret = {entry.format(s=SECRET)}\n[modes]\nlookup = 'observe'\nother = 1\n")
        for entry in TOML_ENTRIES
    ]
    lines = ("k1 {s} more", "k1 {s}\nk1 {s}", "{s}", "'{s}'")
    refusals += [read("secrets = 'file'", line.format(s=SECRET) + end) for line in lines for end in ("", "\n")]
    assert not any(isinstance(one, Policy) or SECRET in one for one in refusals)


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
    "# a policy": "policy.toml: modes.lookup: it is missing, or the file is not yet written: one of off, observe,",
    "[modes]\nlookup = 'off'": "policy.toml, line 1: modes.read: it is missing",
    whole("") + "[keys.k]": "policy.toml: keys: the modes are the last table of the file",
    whole(
        "[modes]\nadmin = 'enforce'"
    ): "policy.toml: principals: there is none, and with these modes nobody may admin",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_a_policy_that_is_wrong_is_refused_with_its_line(text: str) -> None:
    refusal = read(text)
    assert isinstance(refusal, str)
    assert refusal.startswith(REFUSED[text])


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
structures = st.dictionaries(keys, values, max_size=5) | st.fixed_dictionaries({
    "modes": st.dictionaries(keys, texts, max_size=3), "principals": st.dictionaries(keys, principals, max_size=3),
})  # fmt: skip
TOKENS = (*"{}[]:-\n |'\"%\t#", "accounts", "*a", "&a", "!!int", "? ", "<<", "accessKey: a", "secretKey: b")


def as_yaml(value: Any) -> str:
    """The value without what only TOML has."""
    return str(yaml.safe_dump(json.loads(json.dumps(value, default=str))))


yaml_texts = st.text() | values.map(as_yaml) | structures.map(as_yaml) | st.lists(st.sampled_from(TOKENS)).map("".join)


@given(st.text() | structures.map(tomli_w.dumps), yaml_texts)
def test_any_text_is_read_or_refused(text: str, others: str) -> None:
    """As a policy, as the files that it names, as plain_acl.yml, and as a file of secrets."""
    assert isinstance(read(text, f"{others}\n"), Policy | str)
    read_acl(others)
    with contextlib.suppress(PolicyError):
        read_secrets("secrets", others)


# White lists of RocketMQ 4: the networks of an entry are the addresses that Java's own class lets in.

VERSION = "4.9.7"
NOT_READ = "refused"
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


def here(entry: str, address: str) -> str:
    """As WhiteLists.java prints it."""
    try:
        return str(contains(tuple(networks_of(entry)), literal(address))).lower()
    except ValueError:
        return NOT_READ


@pytest.fixture(scope="module")
def java() -> dict[tuple[str, str], str]:
    """What RemoteAddressStrategyFactory says of all entries and addresses."""
    asked = list(product((*SAME, *REFUSED_HERE), ADDRESSES))
    command = ["java", "-cp", jars(f"rocketmq-acl-{VERSION}", VERSION, "rocketmq-acl"),
               str(Path(__file__).with_name("WhiteLists.java"))]  # fmt: skip
    lines = "".join(f"{entry}\t{address}\n" for entry, address in asked)
    ended = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=JAVA_TIMEOUT_S)
    return dict(zip(asked, ended.stdout.split(), strict=True))


@pytest.mark.needs("java", "mvn")
def test_an_entry_lets_in_whom_java_lets_in(java: dict[tuple[str, str], str]) -> None:
    """Except where an entry says two things."""

    def outcomes(entry: str) -> tuple[list[str], list[str]]:
        return [here(entry, one) for one in ADDRESSES], [java[entry, one] for one in ADDRESSES]

    for entry in SAME:
        ours, theirs = outcomes(entry)
        assert ours == theirs, entry
    for entry in REFUSED_HERE:
        ours, theirs = outcomes(entry)
        assert set(ours) == {NOT_READ}, entry
        assert set(theirs) != {"true"}, entry


@given(st.text(alphabet="0123456789abf.:*-{}, %", max_size=24))
def test_any_entry_is_read_or_refused_by_a_value_error(entry: str) -> None:
    here(entry, "10.0.0.1")


# A policy's files while they are watched: written in place, removed, no files at all, links.

PRINCIPAL = '[principals.p]\nnetworks = ["192.0.2.0/24"]\nmay = ["admin"]\n'
ENFORCED = whole(f'[modes]\nadmin = "enforce"\n{PRINCIPAL}')
OBSERVED = whole(f'[modes]\nadmin = "observe"\n{PRINCIPAL}')


class Watched:
    """A policy's file, and the policies that were followed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.followed: list[Policy] = []
        self.file = AccessFile(str(path), self.followed.append)
        self.file.start(9876)

    @property
    def mode(self) -> Mode:
        return self.followed[-1].mode_of(Access.ADMIN)

    def check(self, times: int = 2) -> None:
        """A change is read when a second check sees the same."""
        for _ in range(times):
            self.file.check()


@pytest.fixture
def policy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A changed one is read by the check that finds it."""
    monkeypatch.setattr(following, "in_a_thread", lambda read, take: take(read()))
    return tmp_path / "access.toml"


@pytest.fixture
def watched(policy_file: Path) -> Watched:
    policy_file.write_text(ENFORCED, "utf-8")
    return Watched(policy_file)


@given(st.data())
def test_the_beginning_of_a_policy_is_no_policy(data: st.DataObject) -> None:
    """Wherever its writer paused: neither a mode nor a restriction of a principal is missing."""
    text = data.draw(st.sampled_from(WHOLE))
    cut = data.draw(st.integers(0, len(text.rstrip()) - 1))
    assert isinstance(read(text), Policy)
    assert isinstance(read(text[:cut]), str)


NAMED = {
    "plain_acl": (
        "globalWhiteRemoteAddresses:\n- 10.10.15.*\n- 192.168.100.{1,20}\naccounts:\n- accessKey: k1\n"
        "  secretKey: 12345678910\n  whiteRemoteAddress: 10.1.0.100\n  admin: false\n- accessKey: k2\n"
        "  secretKey: abcdefghijkl\n  whiteRemoteAddress:\n  admin: true\n"
    ),
    "secrets": "# of brokers\nk1 12345678910\nk2 abcdefghijkl\n",
}  # fmt: skip


@pytest.mark.parametrize("named", NAMED)
def test_the_beginning_of_a_file_that_a_policy_names_allows_nothing_new(named: str) -> None:
    """Neither a wider network nor a shorter secret. Where whole lines are missing, so are rights."""
    text, policy = NAMED[named], whole(f'{named} = "file"\n')
    everything = read(policy, text)
    assert isinstance(everything, Policy)
    principals = {one.name: one for one in everything.principals}
    refused = 0
    for cut in range(len(text)):
        beginning = read(policy, text[:cut])
        if isinstance(beginning, str):
            refused += 1
            continue
        for one in beginning.principals:
            same = principals[one.name]
            assert one.may <= same.may
            assert set(one.networks) <= set(same.networks)
            assert one.keys <= same.keys
        for key, secret in beginning.secrets.items():
            assert secret.signature([b"x"]) == everything.secrets[key].signature([b"x"])
    assert refused > len(text) * 3 // 4


@pytest.mark.parametrize("asks", [False, True], ids=["by itself", "SIGHUP"])
def test_file_that_changes_between_checks_is_not_read(watched: Watched, *, asks: bool) -> None:
    """Written in place."""
    for written in range(0, len(OBSERVED), 5):
        watched.path.write_text(OBSERVED[:written], "utf-8")
        if asks:
            watched.file.reread()
        watched.check(1)
        assert watched.mode is Mode.ENFORCE
    watched.path.write_text(OBSERVED, "utf-8")
    watched.check()
    assert watched.mode is Mode.OBSERVE
    assert (len(watched.followed), watched.file.failures) == (2, 0)


@pytest.mark.parametrize("asks", [False, True], ids=["by itself", "SIGHUP"])
def test_half_of_a_file_whose_writer_pauses_changes_nothing(watched: Watched, *, asks: bool) -> None:
    half = ENFORCED.partition("[modes]")[0]
    watched.path.write_text(half, "utf-8")
    if asks:
        watched.file.reread()
    watched.check(5)
    assert (watched.mode, watched.file.failures) == (Mode.ENFORCE, 1)
    with pytest.raises(StartupError, match="it is missing"):
        Watched(watched.path)


@pytest.mark.parametrize("asks", [False, True], ids=["by itself", "SIGHUP"])
@pytest.mark.parametrize("named", NAMED)
def test_a_file_that_a_policy_names_is_waited_for_too(policy_file: Path, named: str, *, asks: bool) -> None:
    """While it changes it is not read, and half of a line changes nothing."""
    file, text = policy_file.with_name("file"), NAMED[named]
    file.write_text("# none yet\n" if named == "secrets" else "accounts: []\n", "utf-8")
    policy_file.write_text(whole(f'{named} = "file"\n'), "utf-8")
    watched = Watched(policy_file)
    for written in range(0, len(text), 20):
        file.write_text(text[:written], "utf-8")
        if asks:
            watched.file.reread()
        watched.check(1)
    assert (len(watched.followed), watched.file.failures) == (1, 0)
    file.write_text(text[:-5], "utf-8")
    watched.check()
    assert (len(watched.followed), watched.file.failures) == (1, 1)
    file.write_text(text, "utf-8")
    watched.check()
    assert [*watched.followed[-1].secrets] == ["k1", "k2"]


def an_empty_file(path: Path) -> None:
    path.write_text("\n", "utf-8")


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_large_file(path: Path) -> None:
    path.write_text("# " + "x" * 5_000_000, "utf-8")


@pytest.mark.parametrize("put", [an_empty_file, Path.unlink, a_fifo, a_large_file])
def test_what_is_no_policy_changes_nothing_and_waits_for_nobody(watched: Watched, put: Callable[[Path], None]) -> None:
    put(watched.path)
    watched.check(5)
    assert (watched.mode, watched.file.failures) == (Mode.ENFORCE, 1)


def test_server_does_not_start_with_what_is_no_file(policy_file: Path) -> None:
    os.mkfifo(policy_file)
    with pytest.raises(StartupError, match="it is no regular file"):
        AccessFile(str(policy_file), lambda _: None).start(9876)


@pytest.mark.usefixtures("policy_file")
def test_links_that_kubernetes_switches_are_followed(tmp_path: Path) -> None:
    """A mounted secret: access.toml → ..data/access.toml, and ..data → a folder, which is replaced as a whole."""
    versions = [mounted(tmp_path, number, text) for number, text in enumerate((ENFORCED, OBSERVED))]
    (tmp_path / "..data").symlink_to(versions[0].name)
    for name in ("access.toml", "secrets"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    watched = Watched(tmp_path / "access.toml")
    (tmp_path / "..data_tmp").symlink_to(versions[1].name)
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    watched.check()
    assert (watched.mode, list(watched.followed[-1].secrets)) == (Mode.OBSERVE, ["key-1"])


def mounted(folder: Path, number: int, text: str) -> Path:
    version = folder / f"..version-{number}"
    version.mkdir()
    (version / "access.toml").write_text(f'secrets = "secrets"\n{text}', "utf-8")
    (version / "secrets").write_text(f"key-{number} 12345678\n", "utf-8")
    return version


def test_policy_that_changes_while_it_is_read_is_read_again(policy_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reading at a time, in a thread; what came meanwhile is another one."""
    begun: list[Callable[[], None]] = []

    def later(read: Callable[[], FileReading[Any]], take: Callable[[FileReading[Any]], None]) -> None:
        begun.append(lambda: take(read()))

    followed: list[Policy] = []
    policy_file.write_text(ENFORCED, "utf-8")
    monkeypatch.setattr(following, "in_a_thread", later)
    file = AccessFile(str(policy_file), followed.append)
    file.start(9876)
    for _ in range(3):
        file.reread()
        file.check()
    assert (len(begun), len(followed)) == (1, 1)
    begun.pop()()
    file.check()
    assert (len(begun), len(followed)) == (1, 2)
    begun.pop()()
    file.check()
    assert (len(begun), len(followed)) == (0, 3)
