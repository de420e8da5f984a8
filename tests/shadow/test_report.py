"""Counts and what people read of them: the verdict, the summary, the page, the status port."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from rocketns.languages import use
from rocketns.shadow import pairs, status
from rocketns.shadow.cli import write_report
from rocketns.shadow.page import live_page, report
from rocketns.shadow.pairs import NAMES_MAX, OTHERS, Counts, MemberDifference, Outcome, Samples
from rocketns.shadow.recording import read_recording
from rocketns.shadow.running import reached_at
from rocketns.shadow.status import StatusPort
from rocketns.shadow.summary import ENOUGH_MS, Comparison, Mood, summary, verdict_on
from tests.shadow.frames import PAIR, answer, pair, request, route, sample


def test_codes_and_names_that_peers_choose_do_not_add_rows_without_end() -> None:
    counts = Counts()
    for number in range(1000):
        counts.add(20_000 + number, Outcome.EQUAL)
        counts.add_client(f"client {number}")
    assert list(counts.outcomes) == [("unknown", Outcome.EQUAL)]
    assert len(counts.clients) == NAMES_MAX + 1
    assert counts.clients[OTHERS] == 1000 - NAMES_MAX


def test_frames_of_all_kept_pairs_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "SAMPLES_BYTES_MAX", 20)
    samples = Samples()
    for number in range(3):
        samples.add(sample(f"q{number}"))
    assert [one.pair is None for one in samples] == [False, True, True]


HOSTILE = '"><script>alert(1)</script>&\u202e'


def hostile_counts() -> Counts:
    counts = Counts()
    counts.add(105, Outcome.EQUAL, 40)
    counts.listed["limits"] += 7
    counts.add_client(HOSTILE)
    difference = MemberDifference(f"body.{HOSTILE}", HOSTILE, HOSTILE)
    known: dict[str, Any] = {"peer": HOSTILE, "client": HOSTILE, "request": HOSTILE, "note": HOSTILE}
    counts.add_unwanted(106, sample(differences=(difference,), **known))
    return counts


def shown(counts: Counts | None = None, **fields: Any) -> Comparison:
    known: dict[str, Any] = {
        "upstream": "java:9876",
        "address": "ns:9876",
        "began_ms": PAIR.at_ms,
        "now_ms": PAIR.at_ms + 60_000,
        "relay": {"open": 3},
        "skipped": 2,
    }
    return Comparison(hostile_counts() if counts is None else counts, **known | fields)


def comparison(counts: Counts, ran_ms: int = ENOUGH_MS, **fields: Any) -> Comparison:
    return Comparison(counts, "java:9876", "ns:9876", PAIR.at_ms - 1000, PAIR.at_ms - 1000 + ran_ms, **fields)


def equal(number: int) -> Counts:
    counts = Counts()
    counts.add(105, Outcome.EQUAL, number)
    return counts


def test_nothing_is_called_ready_that_was_not_shown_for_a_day() -> None:
    assert verdict_on(comparison(equal(1_234_567))).mood is Mood.GOOD
    assert "enough after 24 h" in verdict_on(comparison(equal(12), 1_200_000)).sentence
    warming = Counts()
    warming.add(105, Outcome.WARMING, 5)
    assert verdict_on(comparison(equal(12), skipped=3)).mood is Mood.WAITING
    assert verdict_on(comparison(warming)).mood is Mood.WAITING
    assert (warming.judged, warming.unwanted) == (0, 0)


def advice(**fields: Any) -> str:
    return verdict_on(comparison(Counts(), **fields)).advice


def test_the_address_to_point_a_client_at_is_one_that_it_can_reach() -> None:
    assert [reached_at(host, 9876) for host in ("::", "0.0.0.0", "10.0.0.1")] == [
        *2 * [f"{socket.gethostname()}:9876"], "10.0.0.1:9876"]  # fmt: skip


SEEN = {"connections": 1, "requests": 1}


def test_where_nothing_was_compared_it_says_what_to_do_and_the_exit_status_is_2() -> None:
    assert advice() == "No client asks through this address yet: point one at ns:9876."
    assert advice(trouble="refused") == "The upstream java:9876 takes no connections: refused"
    assert "keys" in advice(relay={"connections": 1, "requests": 0})
    assert advice(relay=SEEN, settles_in_s=20.0).endswith("differences count in 20 s.")
    differing = Counts()
    differing.add_unwanted(105, sample())
    assert [comparison(one).exit_status for one in (Counts(), equal(1), differing)] == [2, 0, 1]


def test_differences_of_a_half_that_no_broker_registers_at_have_that_as_their_remedy() -> None:
    counts = Counts()
    counts.add_unwanted(105, sample())
    assert verdict_on(comparison(counts)).advice.startswith("No broker registers through ns:9876,")
    counts.add(103, Outcome.EQUAL)
    assert verdict_on(comparison(counts)).advice.startswith("Look at each pair")


def test_a_half_that_does_not_run_is_said_before_anything_else() -> None:
    found = verdict_on(comparison(equal(5), settles_in_s=None))
    assert (found.mood, found.sentence) == (Mood.BAD, "rocketns' own half does not run, so nothing is compared")
    assert found.reasons[0].startswith("0 different of 5 answers")


@pytest.fixture
def chinese() -> Iterator[None]:
    use("zh")
    yield
    use("en")


@pytest.mark.usefixtures("chinese")
def test_the_page_and_the_summary_speak_chinese() -> None:
    assert "还没有客户端" in summary(comparison(Counts()))
    for text in (report(shown()), live_page(shown())):
        assert '<html lang="zh">' in text
        assert "每种请求的响应" in text


def test_the_summary_has_the_counts_and_what_differs_and_peers_cannot_control_the_terminal() -> None:
    counts = equal(5)
    counts.listed["limits"] += 2
    counts.add_client("GO 4.9.4")
    hostile = "\x1b[2J\r\nT\u202e"
    differences = (MemberDifference("body.a", hostile, ""),)
    shown = sample(request=hostile, differences=differences, client=hostile, note=hostile)
    counts.add_unwanted(105, shown)
    text = summary(comparison(counts))
    assert text.startswith("1 of 6 answers in 24 h differ")
    assert [line for line in text.splitlines() if line.startswith("GET_ROUTE")] == ["GET_ROUTEINFO_BY_TOPIC  5      1"]
    rows = [line.split("  ") for line in text.splitlines()]
    assert ["GO 4.9.4", "1"] in rows
    assert [cell.strip() for row in rows if row[0] == "limits" for cell in row if cell] == ["limits", "2"]
    assert ["body.a", r"\x1b[2J\r\nT\u202e", "nothing"] in rows
    assert not set("\x1b\r\u202e") & set(text)


def test_no_text_of_a_peer_becomes_markup_in_the_report_or_the_page() -> None:
    for text in (report(shown()), live_page(shown())):
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert text.count("&lt;script&gt;alert(1)") >= 6


port_of: list[int] = []


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[..., tuple[int, str]]]:
    """Asks a status port on a loop of its own thread."""
    loop = asyncio.new_event_loop()
    server = StatusPort(("127.0.0.1", 0), shown)
    thread = Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(60)

    def ask(method: str, path: str, **headers: str) -> tuple[int, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            connection.request(method, path, headers={name.replace("_", "-"): one for name, one in headers.items()})
            try:
                answer = connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                return 0, ""
            return answer.status, answer.read().decode()

    port_of[:] = [server.port]
    yield ask

    async def stop() -> None:
        """A task that did not end would be a line in the log of another test, when it is garbage."""
        server.stop()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)

    asyncio.run_coroutine_threadsafe(stop(), loop).result(60)
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
    for line in ('unwanted_total{outcome="different"} 1.0', "skipped_total 2.0"):
        assert f"rocketns_shadow_{line}" in metrics


def test_nothing_can_be_changed_there(ask: Callable[..., tuple[int, str]]) -> None:
    for path in ("/", "/switch?serve_percent=100", "/api/counts"):
        assert ask("POST", path, X_Rocketns_Change="yes")[0] == 405
    assert (ask("GET", "/", Host="evil.example")[0], ask("GET", "/nothing")[0]) == (421, 404)
    assert (ask("GET", "/", Host="[::1]:9880")[0], ask("GET", "/metrics", Host="prometheus.example")[0]) == (200, 200)
    assert ask("GET", "/", Host="localhost", X="y" * 20_000)[0] == 0


def test_a_stranger_holds_the_port_for_no_longer_than_its_time(
    ask: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More connections than there may be: each is closed, and then others are answered."""
    monkeypatch.setattr(status, "CONNECTION_S", 0.1)
    strangers = [socket.create_connection(("127.0.0.1", port_of[0])) for _ in range(2 * status.CONNECTIONS_MAX)]
    for stranger in strangers:
        stranger.settimeout(60)
        with closing(stranger):
            assert is_over(stranger)
    assert ask("GET", "/")[0] == 200


def is_over(stranger: socket.socket) -> bool:
    try:
        return stranger.recv(1) == b""
    except ConnectionResetError:
        return True


def differing_counts() -> Counts:
    found = Counts()
    signed = request(ext={"topic": "T", "AccessKey": "key", "Signature": "s3cret"})
    shown = sample(pair=pair(answer(route("a")), answer(route("b")), signed))
    found.add_unwanted(105, shown)
    found.add_unwanted(105, sample("large", pair=None))
    return found


def test_the_frames_of_pairs_that_differ_are_beside_the_report_without_what_signs_them(tmp_path: Path) -> None:
    written = write_report(tmp_path / "shadow.html", shown(differing_counts()))
    assert [path.name for path in written] == ["shadow.html", "shadow.html.frames.jsonl"]
    (recorded,) = read_recording(written[1])
    assert recorded.own == answer(route("b"))
    assert b"s3cret" not in recorded.request
    page = written[0].read_text("utf-8")
    assert "response SUCCESS (0) to frame 1, GET_ROUTEINFO_BY_TOPIC (105)" in page
    assert "s3cret" not in page
    assert written[1].stat().st_mode & 0o777 == 0o600


def test_half_a_character_of_a_peer_does_not_cost_the_report(tmp_path: Path) -> None:
    """JSON can name one that no encoding has."""
    counts = Counts()
    counts.add_unwanted(105, sample(pair=pair(answer(), answer(code=1), request(body=rb'{"a":"\ud800"}'))))
    written = write_report(tmp_path / "shadow.html", comparison(counts))
    assert r"\ud800" in written[0].read_text("utf-8")
