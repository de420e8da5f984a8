"""`rocketns access suggest`: what is read of journals, what is left out and said to be, and the policy as text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rocketns.tools.access import suggesting
from rocketns.tools.access.suggesting import document, groups, journals, seen
from rocketns.tools.access.suggesting.document import policy_text
from rocketns.tools.access.suggesting.journals import Journals
from rocketns.tools.access.suggesting.seen import Sightings
from tests.tools.access.conftest import Run
from tests.tools.access.refusing import FIRST_US, Sent, decision, journal, lines, policy_of, sent

LOOKUP = sent("10.0.0.1", 105, topic="orders")
BROKER = sent("10.0.1.1", 103, brokerName="broker-a", brokerAddr="10.0.1.1:10911")
DAY_US = 86_400_000_000


def suggested(access: Run, folder: str, *words: str) -> str:
    status, shown, error = access("suggest", "--journal", folder, *words)
    assert (status, error) == (0, "")
    return shown


def of(access: Run, folder: Path, *requests: Sent, words: tuple[str, ...] = ()) -> str:
    return suggested(access, journal(folder, lines(one.event() for one in requests)), *words)


WHOLE = """
# Requests: 42, senders: 2, 2025-11-20T00:00:00Z to 2025-11-20T00:00:01Z; no_evidence (42)
# Codes: 105 GET_ROUTEINFO_BY_TOPIC (42)
[principals."hosts 10.0.0.1 and 1 more"]
networks = [
    "10.0.0.1",
    "10.0.0.3",
]
may = [
    "lookup",
]

# Requests: 1, senders: 1, 2025-11-20T00:00:02Z to 2025-11-20T00:00:02Z; no_evidence (1)
# Codes: 103 REGISTER_BROKER (1)
[principals."hosts 10.0.1.1"]
networks = [
    "10.0.1.1",
]
may = [
    "broker",
]
broker_names = [
    "broker-a",
]
addresses = [
    "10.0.1.1",
]
kv_namespaces = []
"""


def test_those_who_need_the_same_are_one_principal(access: Run, tmp_path: Path) -> None:
    events = [LOOKUP.event(), sent("10.0.0.3", 105).event(count=41), BROKER.event()]
    text = suggested(access, journal(tmp_path, lines(events)))
    assert text.startswith("# Written by `rocketns access suggest`. It allows what 43 requests asked for")
    assert text.endswith(WHOLE)


def test_a_key_is_named_and_its_secret_left_to_be_filled_in(access: Run, tmp_path: Path) -> None:
    text = of(access, tmp_path, sent("10.0.0.1", 105, "k1"))
    assert '[principals."key k1 10.0.0.1"]' in text
    assert text.endswith('\n[keys.k1]\nsecret = "<fill in>"\n')
    file = tmp_path / "policy.toml"
    file.write_text(text, "utf-8")
    status, _, error = access("check", str(file))
    assert status == 1
    assert "policy.toml, line 32: keys.k1: the secret of 'k1' is still to be filled in" in error


def test_admin_requests_are_comments(access: Run, tmp_path: Path) -> None:
    text = of(access, tmp_path, sent("8.8.8.8", 205, "ops", brokerName="a"))
    at = text.index("# Admin requests were seen")
    assert all(line.startswith("#") or not line for line in text[at:].split("\n"))
    assert "\n# # Public addresses: 1 of the networks\n# [principals" in text
    assert policy_of(text).principals == ()


def test_addresses_are_joined_only_if_all_were_seen(access: Run, tmp_path: Path) -> None:
    every = [sent(f"10.0.0.{number}", 105) for number in range(256)]
    assert '"10.0.0.0/24",\n]' in of(access, tmp_path / "all", *every)
    assert "/24" not in of(access, tmp_path / "some", *every[1:])


def test_addresses_are_joined_by_networks_if_asked(access: Run, tmp_path: Path) -> None:
    hosts = ("10.0.0.7", "10.0.0.9", "10.0.1.1", "2001:db8::/64", "2001:db8:0:1::7")
    text = of(access, tmp_path, *(sent(host, 105) for host in hosts), words=("--networks", "24"))
    assert 'networks = [\n    "10.0.0.0/23",\n    "2001:db8::/63",\n]' in text
    policy = policy_of(text)
    assert not decision(policy, sent("10.0.1.200", 105)).is_refused
    assert decision(policy, sent("10.0.2.1", 105)).is_refused


def test_more_networks_than_a_list_may_have_are_several_principals(
    access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "ITEMS_MAX", 2)
    hosts = [f"10.0.0.{number}" for number in (1, 3, 5, 7, 9)]
    events = [sent(host, 105).event(count=number) for number, host in enumerate(hosts, 1)]
    text = suggested(access, journal(tmp_path, lines(events)))
    assert [int(line.split()[2].strip(",")) for line in text.split("\n") if line.startswith("# Requests:")] == [3, 7, 5]
    policy = policy_of(text)
    assert [len(one.networks) for one in policy.principals] == [2, 2, 1]
    assert not any(decision(policy, sent(host, 105)).is_refused for host in hosts)


def test_what_was_before_is_left_out(access: Run, tmp_path: Path) -> None:
    journal(tmp_path, lines([LOOKUP.event()]), "1-000001.jsonl")
    folder = journal(tmp_path, lines([BROKER.event()], FIRST_US + DAY_US), "1-000002.jsonl")
    text = suggested(access, folder, "--since", "2025-11-21")
    assert "It allows what 1 requests asked for" in text
    assert "10.0.0.1" not in text
    assert suggested(access, folder, "--since", "2025-11-21T00:00:00Z") == text
    assert "requests: 1" not in suggested(access, folder, "--since", "2025-11-20T03:00:00+03:00")
    assert access("suggest", "--journal", folder, "--since", "2025-12-01")[0] == 1


def test_open_files_several_journals_and_single_files_are_read(access: Run, tmp_path: Path) -> None:
    opened = journal(tmp_path / "one", lines([LOOKUP.event()]), ".open-1-000001")
    other = Path(journal(tmp_path / "two", lines([BROKER.event()])))
    (file,) = other.rglob("*.jsonl")
    text = suggested(access, opened, "--journal", str(file))
    assert "by 2 files of journals" in text
    assert "broker-a" in text
    assert "hosts 10.0.0.1" in text


LEFT = [
    (Sent("…", None, 0).event("not_granted"), "counted them together with those of others"),
    (Sent("10.0.0.1", "…", 0).event(), "counted them together with those of others"),
    (sent("10.0.0.1", 9999).event("no_class"), "their codes have no class"),
    (sent("20010db800000000", 105).event(), "their senders have no IP address"),
    (sent("10.0.0.1", 105, "k" * 201).event(), "has more than 200 characters"),
    (sent("10.0.0.1", 103, brokerName="b" * 201).event(), "has more than 200 characters"),
    (sent("10.0.0.1", 103).event(), "is missing, empty, or no valid Unicode"),
    (sent("10.0.0.1", 103, brokerName="\ud800").event(), "is missing, empty, or no valid Unicode"),
    (sent("10.0.0.1", 101, namespace="").event(), "is missing, empty, or no valid Unicode"),
    (LOOKUP.event("too_many"), "they were refused for another reason"),
]


@pytest.mark.parametrize(("event", "why"), LEFT, ids=range(len(LEFT)))
def test_what_no_policy_can_say_is_left_out_and_told(access: Run, tmp_path: Path, event: object, why: str) -> None:
    text = suggested(access, journal(tmp_path, lines([event])))  # type: ignore[list-item]
    (said,) = [line for line in text.split("\n") if line.startswith("# Left out: 1 requests: ")]
    assert why in said
    assert policy_of(text).principals == ()


def test_what_a_record_does_not_say_is_told(access: Run, tmp_path: Path) -> None:
    host_name = sent("10.0.0.1", 904, brokerName="a", brokerAddr="broker:10911")
    text = suggested(access, journal(tmp_path, lines([host_name.event("takeover"), sent("10.0.0.1", 217).event()])))
    assert "# A broker announced a host name, which addresses cannot have" in text
    assert "# Code 217 names its brokers in its body" in text
    assert "# Took over live brokers' addresses in these groups. If it may, add them as owns: a" in text
    assert "addresses = " not in text


def test_lines_that_are_no_record_are_counted(access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "LINE_BYTES_MAX", 1024)
    wrong = [b'{"refused"', b'{"boot":1,"seq":1,"ts":1,"ev":"refused","n":"x"}', b'"refused"' * 1000,
             b'{"boot":1,"seq":1,"ts":1,"ev":"down","cause":"refused"}', b"\xff", b""]  # fmt: skip
    content = b"\n".join([*wrong, lines([LOOKUP.event()])])
    text = suggested(access, journal(tmp_path, content + b'{"boot":1,"ev":"refused"'))
    assert "# Left out: 2 lines that cannot be read" in text
    assert "It allows what 1 requests asked for" in text


def test_a_text_that_is_no_unicode_is_read_as_it_was(access: Run, tmp_path: Path) -> None:
    """Its record is escaped, and so are the backslashes of other names in it."""
    request = Sent("10.0.0.1", None, 103, (("brokerName", "a\\b"), ("brokerAddr", "10.0.0.1:1"), ("x", "\ud800")))
    policy = policy_of(of(access, tmp_path, request))
    assert not decision(policy, request).is_refused


@pytest.mark.parametrize(("name", "value", "left"), [
    ("SENDERS_MAX", 2, "there were more than"), ("TEXTS_MAX", 3, "names of a sender, or"),
    ("TEXTS_OF_SENDER_MAX", 1, "names of a sender, or"),
])  # fmt: skip
def test_memory_is_bounded(
    access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, left: str
) -> None:
    monkeypatch.setattr(seen, name, value)
    names = [sent(f"10.0.0.{number}", 103, brokerName=f"b{number}", brokerAddr="h:1") for number in range(4)]
    more = [sent("10.0.0.0", 103, brokerName="another", brokerAddr="h:1")]
    text = of(access, tmp_path, *names, *more)
    assert left in text
    assert "# Left out: 2 requests" in text or "# Left out: 1 requests" in text
    assert 1 <= len(policy_of(text).principals) <= 4


@pytest.mark.parametrize(("name", "value"), [("PRINCIPALS_MAX", 1), ("NETWORKS_MAX", 1), ("BYTES_MAX", 300)])
def test_those_who_asked_most_have_room(
    access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    monkeypatch.setattr(document, name, value)
    text = suggested(access, journal(tmp_path, lines([LOOKUP.event(), sent("10.0.0.9", 319).event(count=7)])))
    assert "# Left out: 1 requests: a policy has no room" in text
    (principal,) = policy_of(text).principals
    assert principal.name == "hosts 10.0.0.9"


def test_a_policy_of_everything_at_its_limits_is_read_again() -> None:
    """21,000 senders, each with a key and names of its own."""
    sightings = Sightings(None)
    for number in range(21_000):
        host = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        fields = [{"k": "brokerName", "v": f"{number:0200d}"}, {"k": "brokerAddr", "v": f"{host}:1"}]
        sightings.add({"ev": "refused", "ts": FIRST_US, "code": 103, "from_host": host, "n": 1, "fields": fields,
                       "access_key": f"{number % 1000:0200d}", "reason": "unknown_key"})  # fmt: skip
    text = policy_text(sightings, Journals([], 0))
    assert len(text.encode()) < 4 * 1024 * 1024
    assert len(policy_of(text).principals) == 1_000


def test_a_journal_without_refusals_ends_with_1(access: Run, tmp_path: Path) -> None:
    status, shown, error = access("suggest", "--journal", journal(tmp_path, b""))
    assert (status, shown) == (1, "")
    assert "1 files of journals have no refused request" in error


@pytest.mark.parametrize("words", ["", "--journal nowhere", "--journal . --since x", "--journal . --networks 7",
                                   "--journal . --networks 33", "--journal . --networks x"])  # fmt: skip
def test_a_wrong_option_ends_with_2(access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    status, shown, error = access("suggest", *words.split())
    assert (status, shown) == (2, "")
    assert error


def test_a_folder_that_is_no_journal_ends_with_2(access: Run, tmp_path: Path) -> None:
    (tmp_path / "file.jsonl").write_text("", "utf-8")
    status, _, error = access("suggest", "--journal", str(tmp_path))
    assert status == 2
    assert error.endswith("there is no journal\n")


def test_without_its_library_the_command_says_what_to_install(
    access: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tomli_w", None)
    for name in ("document", "writing"):
        monkeypatch.delitem(sys.modules, f"{suggesting.__name__}.{name}", raising=False)
        monkeypatch.delattr(suggesting, name, raising=False)
    status, _, error = access("suggest", "--journal", journal(tmp_path, lines([LOOKUP.event()])))
    assert status == 2
    assert "pip install 'rocketns[tools]'" in error
