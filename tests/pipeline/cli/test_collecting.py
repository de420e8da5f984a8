"""`rocketns audit run --name-servers`: what the collector is asked for, and what follows from how it ends. No Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocketns.collect.arguments import parse as collector_parse
from rocketns.pipeline.cli.arguments import parse
from rocketns.pipeline.cli.collecting import arguments, collected, journal_of, with_unread
from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.contract.exits import BadInput

RUN = ("run", "--out", "o")
TWO = ("--name-servers", "a=ns-1:9876,ns-2:9876")


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[bool, list[str], str]:
    """Whether all were read, the collector's command line, and the progress."""
    asked: list[str] = []

    def collect(words: Sequence[str]) -> int:
        asked.extend(words)
        return status

    options = parse([*RUN, *words])
    is_read = collected(options, journal_of(options), Progress(lambda: 0.0), collect)
    return is_read, asked, capsys.readouterr().err


def test_what_is_seen_goes_below_out_unless_a_journal_is_named() -> None:
    assert journal_of(parse([*RUN, *TWO])) == "o/collected"
    assert journal_of(parse([*RUN, *TWO, "--journal", "j"])) == "j"
    assert journal_of(parse([*RUN, "--journal", "j"])) == "j"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name the --journal, or with --name-servers"),
        (("--journal", "j", "--for", "5m"), "--for goes with --name-servers"),
        (("--journal", "j", "--brokers"), "--brokers goes with --name-servers"),
        ((*TWO, "--journal", "s3a://bucket/j"), "name another --journal than s3a://bucket/j"),
    ],
)
def test_what_does_not_go_together_is_said(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        journal_of(parse([*RUN, *words]))


def test_the_collector_watches_for_ten_minutes_unless_a_time_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    is_read, asked, progress = said(capsys, *TWO)
    assert (is_read, asked) == (
        True,
        ["--name-servers", TWO[1], "--for", "10m", "--language", "en", "--journal", "o/collected"],
    )
    assert f"watching {TWO[1]} for 10m; what is seen goes to o/collected" in progress


def test_the_collector_takes_the_options_as_they_are_written() -> None:
    given = (*TWO, "--for", "90s", "--interval", "2s", "--requests-per-second", "200", "--brokers")
    settings = collector_parse(arguments(parse([*RUN, *given]), "j"), {})
    assert [ns for ns, _ in settings.name_servers] == ["a", "ns-2-9876"]
    assert (settings.journal, settings.for_s, settings.interval_s, settings.per_second, settings.ask_brokers) == (
        "j", 90, 2, 200, True,
    )  # fmt: skip


def test_a_name_server_that_was_never_read_makes_the_run_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *TWO, status=1)[0] is False
    assert [with_unread(status) for status in (0, 1, 2, 3, 70)] == [3, 3, 2, 3, 70]


def test_what_the_collector_refuses_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match="were not watched"):
        said(capsys, *TWO, status=2)
