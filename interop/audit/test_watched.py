"""`rocketns collect` and `rocketns audit` beside real name servers of both kinds, and what really happened.

One story is told before all tests: a link is cut and healed, a permission wiped and added, a broker stops, the other is
killed. Two Java name servers and two rocketns see the same, and rocketns writes its own journal, too.
"""

from __future__ import annotations

import pytest

from interop.audit.audited import Audit, audited
from interop.audit.watched import (
    A_READS,
    BOTH,
    JAVA,
    ONLY_A,
    OWN,
    TOPIC,
    A,
    B,
    Moment,
    Story,
    Window,
    apart_ms,
    copied,
    departures,
    impact,
    moment,
    play,
    windows,
)  # fmt: skip

pytestmark = pytest.mark.timeout(2400)

SHARED = frozenset({"broker-a:2", "broker-a:3"})
# Which audits there are, and of which name servers; the last one was cut off.
KINDS = {"java": JAVA, "own": OWN, "watched": OWN}
Audits = dict[str, Audit]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return play(tmp_path_factory.mktemp("collected"))


@pytest.fixture(scope="module")
def audits(story: Story, tmp_path_factory: pytest.TempPathFactory) -> Audits:
    """By the names of KINDS."""
    home = tmp_path_factory.mktemp("audits")
    folders = {"own": story.own}
    journals = {kind: copied(home / kind, folders.get(kind, story.collected), names) for kind, names in KINDS.items()}
    found = audited(*((journal, home / "out" / kind) for kind, journal in journals.items()))
    return dict(zip(journals, found, strict=True))


def cut_off(audit: Audit, kind: str) -> Window:
    """The one window in which the last name server had lost broker-b."""
    (found,) = [w for w in windows(audit) if w.values == dict.fromkeys(KINDS[kind], 6) | {KINDS[kind][-1]: None}]
    assert found.broker == "broker-b"
    return found


def wiped(audit: Audit, kind: str) -> Window:
    """The one window in which nobody might write to broker-a at the last name server."""
    (found,) = [w for w in windows(audit) if w.values == dict.fromkeys(KINDS[kind], 6) | {KINDS[kind][-1]: 4}]
    assert found.broker == "broker-a"
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_windows_are_those_of_the_truth_within_their_uncertainty(story: Story, audits: Audits, kind: str) -> None:
    """They also are all that there are; what is in doubt is no finding."""
    audit, other = audits[kind], KINDS[kind][-1]
    clocks = apart_ms(audit, KINDS[kind])
    lost, permission = cut_off(audit, kind), wiped(audit, kind)
    back, read_only = (story.change(other, shown) for shown in (BOTH, A_READS))
    given_back = next(one for one in story.changes[other] if one.until > read_only.until and one.shown == BOTH)
    truth = (story.change(other, ONLY_A), back, read_only, given_back)
    found = (lost.opened, lost.closed, permission.opened, permission.closed)
    for real, said in zip(truth, found, strict=True):
        assert said.meets(real, clocks), (real, said, clocks)
    assert len(windows(audit)) == 2


@pytest.mark.parametrize("kind", ["java", "watched"])
def test_nothing_that_was_only_watched_is_called_an_expiry_or_a_graceful_end(audits: Audits, kind: str) -> None:
    audit = audits[kind]
    causes = {row["cause"] for name in ("key_windows", "divergences") for row in audit.rows(name)}
    ends = {row["end_cause"] for name in ("broker_intervals", "topic_intervals") for row in audit.rows(name)}
    assert not (causes | ends) & {"expired", "unregister", "channel_close"}, (causes, ends)
    assert not {row["kind"] for row in departures(audit)} & {"graceful", "silent"}


def test_the_page_of_a_java_only_cluster_names_window_broker_servers_and_queues(audits: Audits) -> None:
    audit = audits["java"]
    window = cut_off(audit, "java")
    assert audit.status == 1, audit.said
    assert window.row["opened_by"] == "j2"
    said = impact(audit, window)
    assert set(said["orphaned_ids"]) == B
    assert set(said["dup_ids"]) == SHARED
    page = (audit.out / "report.html").read_text("utf-8")
    for text in ("broker-b", *JAVA, TOPIC, "broker-b 0-3", "seen from outside"):
        assert text in page, text


def test_both_kinds_of_journal_of_the_same_servers_say_the_same(audits: Audits) -> None:
    """Windows and their impact, within what the collected journal leaves open."""
    own, watched = audits["own"], audits["watched"]
    clocks = apart_ms(own, OWN)
    for find in (cut_off, wiped):
        one, other = find(own, "own"), find(watched, "watched")
        assert other.opened.meets(one.opened, clocks)
        assert other.closed.meets(one.closed, clocks)
    mine, theirs = impact(own, cut_off(own, "own")), impact(watched, cut_off(watched, "watched"))
    same = ("queues", "orphaned_mean", "orphaned_max", "dup_mean", "dup_max", "orphaned_ids", "dup_ids")
    assert {name: mine[name] for name in same} == {name: theirs[name] for name in same}
    window = cut_off(watched, "watched")
    left_open_s = (sum(at.until - at.after for at in (window.opened, window.closed)) + clocks) / 1000
    assert abs(mine["orphaned_qs_max"] - theirs["orphaned_qs_max"]) <= len(A) * left_open_s


def test_departures_are_the_same_by_both_kinds_of_journal(audits: Audits) -> None:
    """Their causes are known to the name servers' own journals alone."""
    own, watched = departures(audits["own"]), departures(audits["watched"])
    assert [row["kind"] for row in own] == ["partition", "graceful", "crash"]
    same = ("broker", "cluster", "ns", "bids")
    assert [[row[name] for name in same] for row in own] == [[row[name] for name in same] for row in watched]
    for one, other in zip(own, watched, strict=True):
        seen = moment(other, "t1")
        assert seen.meets(Moment(one["t1"] / 1000, one["t2"] / 1000), apart_ms(audits["own"], OWN))
    assert "refused" not in watched[0]["asked"], "broker-b was well, and the link was cut"
    assert watched[2]["asked"], "broker-a was killed"
    assert "answered" not in watched[2]["asked"], "a connection may be refused, or silent on a busy machine"
