"""Counts and what people read of them: the verdict, the summary, the page, the status port."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rocketns.shadow.cli import write_report
from rocketns.shadow.counting import kept as keeping
from rocketns.shadow.counting.counts import NAMES_MAX, OTHERS, Counts
from rocketns.shadow.counting.kept import Difference, Samples
from rocketns.shadow.counting.standing import READY_AFTER_MS, Mood, Standing, verdict_on
from rocketns.shadow.counting.summary import summary
from rocketns.shadow.counting.telling import Listening, told
from rocketns.shadow.pairs import Outcome
from rocketns.shadow.recording import Recording
from rocketns.shadow.status.page import live_page, report
from rocketns.shadow.status.server import StatusServer
from tests.shadow.frames import PAIR, answer, kept, pair, request, route


def some() -> Counts:
    counts = Counts(skipped=3)
    counts.add(105, Outcome.EQUAL, 10)
    counts.add(106, Outcome.ORDER)
    counts.add_unwanted(105, Outcome.DIFFERENT, kept())
    counts.listed["limits"] += 1
    counts.add_client("GO 401")
    counts.add_release("5.5.0")
    return counts


def test_told_counts_are_heard_as_they_were_however_the_bytes_are_cut() -> None:
    listening, data = Listening(), told(some()) + told(Counts())
    found = [counts for start in range(0, len(data), 7) for counts in listening.feed(data[start : start + 7])]
    assert found == [some(), Counts()]


def test_counts_that_are_told_in_parts_add_up() -> None:
    whole = some()
    whole.merge(some())
    assert whole.of(Outcome.EQUAL) == 20
    assert (whole.judged, whole.unwanted, whole.skipped) == (24, 2, 6)
    assert [one.times for one in whole.samples] == [2]


def test_codes_and_names_that_peers_choose_do_not_add_rows_without_end() -> None:
    counts = Counts()
    for number in range(1000):
        counts.add(20_000 + number, Outcome.EQUAL)
        counts.add_client(f"client {number}")
    assert list(counts.outcomes) == [("unknown", Outcome.EQUAL)]
    assert len(counts.clients) == NAMES_MAX + 1
    assert counts.clients[OTHERS] == 1000 - NAMES_MAX


def test_frames_of_all_kept_pairs_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEPT_BYTES_MAX", 20)
    samples = Samples()
    for number in range(3):
        samples.add(kept(f"q{number}"))
    assert [one.pair is None for one in samples] == [False, True, True]


HOSTILE = '"><script>alert(1)</script>&\u202e'


def hostile_counts() -> Counts:
    counts = Counts(skipped=2)
    counts.add(105, Outcome.EQUAL, 40)
    counts.listed["limits"] += 7
    counts.add_client(HOSTILE)
    difference = Difference(f"body.{HOSTILE}", HOSTILE, HOSTILE)
    known: dict[str, Any] = {"peer": HOSTILE, "client": HOSTILE, "request": HOSTILE, "note": HOSTILE}
    counts.add_unwanted(106, Outcome.DIFFERENT, kept(differences=(difference,), **known))
    return counts


def shown(counts: Counts | None = None, **fields: Any) -> Standing:
    known = {"upstream": "java:9876", "began_ms": PAIR.at_ms, "now_ms": PAIR.at_ms + 60_000, "relay": {"open": 3}}
    return Standing(hostile_counts() if counts is None else counts, **known | fields)


def standing(counts: Counts, ran_ms: int = READY_AFTER_MS) -> Standing:
    return Standing(counts, "java:9876", PAIR.at_ms - 1000, PAIR.at_ms - 1000 + ran_ms)


def equal(number: int) -> Counts:
    counts = Counts()
    counts.add(105, Outcome.EQUAL, number)
    return counts


def test_nothing_is_called_ready_that_was_not_shown_for_a_day() -> None:
    assert verdict_on(standing(equal(1_234_567))).mood is Mood.GOOD
    assert "enough after 24 h" in verdict_on(standing(equal(12), 1_200_000)).sentence
    skipped, warming = equal(12), Counts()
    skipped.skipped = 3
    warming.add(105, Outcome.WARMING, 5)
    assert verdict_on(standing(skipped)).mood is Mood.WAITING
    assert verdict_on(standing(warming)).mood is Mood.WAITING
    assert (warming.judged, warming.unwanted) == (0, 0)


def test_the_summary_has_the_counts_and_what_differs_and_peers_cannot_control_the_terminal() -> None:
    counts = equal(5)
    counts.listed["limits"] += 2
    counts.add_client("GO 4.9.4")
    hostile = "\x1b[2J\r\nT\u202e"
    shown = kept(request=hostile, differences=(Difference("body.a", hostile, ""),), client=hostile, note=hostile)
    counts.add_unwanted(105, Outcome.DIFFERENT, shown)
    text = summary(standing(counts))
    assert text.startswith("1 of 6 answers in 24 h differ")
    assert [line for line in text.splitlines() if line.startswith("GET_ROUTE")] == ["GET_ROUTEINFO_BY_TOPIC  5      1"]
    assert "listed differences: limits 2" in text
    assert "clients: GO 4.9.4 1" in text
    assert r"body.a: the upstream has \x1b[2J\r\nT\u202e, rocketns nothing" in text
    assert not set("\x1b\r\u202e") & set(text)


def test_no_text_of_a_peer_becomes_markup_in_the_report_or_the_page() -> None:
    for text in (report(shown()), live_page(shown())):
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert text.count("&lt;script&gt;alert(1)") >= 6


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[..., tuple[int, str]]]:
    """Asks a status port on a loop of its own thread."""
    loop = asyncio.new_event_loop()
    server = StatusServer(("127.0.0.1", 0), shown)
    thread = Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(60)

    def ask(method: str, path: str, **headers: str) -> tuple[int, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            connection.request(method, path, headers={name.replace("_", "-"): one for name, one in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    yield ask
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_the_page_its_files_the_counts_and_the_metrics_are_served(ask: Callable[..., tuple[int, str]]) -> None:
    for path, has in (("/", "1 of 41 answers"), ("/page.css", ":root"), ("/page.js", '"use strict"')):
        found, text = ask("GET", path)
        assert (found, has in text) == (200, True)
    counts = json.loads(ask("GET", "/api/counts")[1])
    assert (counts["judged"], counts["unwanted"], counts["skipped"]) == (41, 1, 2)
    assert counts["requests"]["GET_ROUTEINFO_BY_TOPIC"] == {"equal": 40}
    metrics = ask("GET", "/metrics")[1].splitlines()
    for line in ('unwanted_total{outcome="different"} 1.0', 'listed_total{id="limits"} 7.0', "skipped_total 2.0",
                 'relay{of="open"} 3.0'):  # fmt: skip
        assert f"rocketns_shadow_{line}" in metrics


def test_nothing_can_be_changed_there(ask: Callable[..., tuple[int, str]]) -> None:
    for path in ("/", "/switch?serve_percent=100", "/api/counts"):
        assert ask("POST", path, X_Rocketns_Change="yes")[0] in (404, 405)
    assert ask("GET", "/", Host="evil.example")[0] == 421


def differing_counts() -> Counts:
    found = Counts()
    signed = request(ext={"topic": "T", "AccessKey": "key", "Signature": "s3cret"})
    shown = kept(pair=pair(answer(route("a")), answer(route("b")), signed))
    found.add_unwanted(105, Outcome.DIFFERENT, shown)
    found.add_unwanted(105, Outcome.DIFFERENT, kept("large", pair=None))
    return found


def test_the_frames_of_pairs_that_differ_are_beside_the_report_without_what_signs_them(tmp_path: Path) -> None:
    written = write_report(tmp_path / "shadow.html", shown(differing_counts()))
    assert [path.name for path in written] == ["shadow.html", "shadow.html.frames.jsonl"]
    (recorded,) = Recording(written[1]).pairs()
    assert recorded.outcome is Outcome.DIFFERENT
    assert recorded.pair.own == answer(route("b"))
    assert b"s3cret" not in recorded.pair.request
    assert written[1].stat().st_mode & 0o777 == 0o600
