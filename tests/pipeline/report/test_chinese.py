"""The page and report.md in Chinese: no English sentence, nothing untranslated; what programs read stays English."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rocketns.pipeline.jobs.history import quality
from rocketns.pipeline.report.beside.lines import json_lines
from rocketns.pipeline.report.beside.markdown import markdown
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import TEMPLATES, render
from rocketns.pipeline.report.sections.quality import DETAILS, detail
from rocketns.pipeline.report.words.marking import SPOKEN, spoken
from rocketns.pipeline.report.words.outside import outside_notes
from rocketns.pipeline.saying import speaking
from tests.pipeline.report.sample import going_on, incomplete, nothing, sample

pytestmark = pytest.mark.usefixtures("chinese")

WORD = re.compile(r"(?<![\w.%-])[A-Za-z][a-z]{2,}(?![\w-]|\.\w)")
# Names of RocketMQ and of rocketns, codes of the journal, commands and options, names that the data has.
NAMES = (
    "audit averagely circle client docs expired groups heartbeat hole journal lost main master mqadmin open perm "
    "rocketns start stop tables target true tvd verify admin anomaly snapshot register unregister "
    "Broker Java Home Pod Tvd Boot Reactor "
    "clicks east key local mail ops orders pay payments prices refunds shop stock var topic"
)


class Shown(HTMLParser):
    """What a page shows: texts outside of commands, and attributes that are read."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._within = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within += tag in ("script", "style", "code")
        self.texts += [text for name, text in attrs if text and name in ("title", "aria-label", "placeholder")]

    def handle_endtag(self, tag: str) -> None:
        self._within -= tag in ("script", "style", "code")

    def handle_data(self, data: str) -> None:
        self.texts += [] if self._within else [data]


def english(texts: list[str]) -> set[str]:
    return {word for text in texts for word in WORD.findall(text.replace("\\", ""))} - set(NAMES.split())


@pytest.mark.parametrize("make", [sample, going_on, nothing, incomplete])
def test_no_word_of_the_report_is_english_but_names_and_codes(make: Callable[[], ReportInput]) -> None:
    """The sentences of a run are made in its language; those of the sample were written by hand."""
    data = replace(make(), notes={}, incomplete=())
    page = render(data)
    assert '<html lang="zh-CN">' in page
    assert english(Shown(page).texts) == set()
    assert english([line for line in markdown(data).splitlines() if not line.startswith("    ")]) == set()
    timelines = [json.loads(text) for text in re.findall(r'application/json">(.*?)</script>', page) if "groups" in text]
    for timeline in timelines[:1]:
        spans = [span[3] for group in timeline["groups"] for row in group["rows"] for span in row["spans"]]
        assert english([*spans, *(group["name"] for group in timeline["groups"])]) == set()


def test_the_script_says_nothing_but_what_the_catalogue_has() -> None:
    script = "\n".join(path.read_text("utf-8") for path in TEMPLATES.glob("*.js"))
    assert set(re.findall(r'\b_\(\s*"([^"]*)"', script)) <= set(SPOKEN) == set(spoken())


def test_lines_for_programs_are_the_same_in_every_language() -> None:
    data = going_on()
    shown = json_lines(data)
    with speaking("en"):
        assert json_lines(going_on()) == shown


def test_what_was_seen_from_outside_and_what_is_missing_is_said_in_chinese() -> None:
    sources = [{"ns": "n1", "observed": True, "members_early": 5_000_000, "topics_early": 200_000_000}]
    uptime = [{"ns": "n1", "observed": True, "t1": 0, "t2": 9, "no_topics": True}]
    sentences = [text for found in outside_notes(sources, uptime).values() for text in found]
    assert english([re.sub(r"rocketns collect|enableAllTopicList=false", "", text) for text in sentences]) == set()
    assert detail("no record between seq 10 and 12") == "seq 10 与 12 之间没有记录"
    made = " ".join(re.findall(r'F\.lit\("([^"]{9,})"\)', inspect.getsource(quality)))
    assert made
    for _, message in DETAILS:
        made = made.replace(message.split("%")[0].strip(), "")
    assert made.split() == []
