"""docs/limits.md has the limits of the management port as they are in the code."""

from __future__ import annotations

import pytest

from rocketns.admin import gate, turns, view
from rocketns.admin.api import answers, handlers, paging
from rocketns.admin.metrics import family
from rocketns.admin.page import stream
from rocketns.admin.recent import ring
from rocketns.admin.tokens import access, file
from rocketns.config import admin
from rocketns.config.texts.networks import NETWORKS_MAX
from rocketns.server.http import heads, secured
from tests.check.source import ROOT

ROWS = {
    "connections": f"{gate.CONNECTIONS_MAX}",
    "requests begun in one turn of its loop": f"{turns.REQUESTS_PER_TURN_MAX}",
    "from the connection to the end of the first request's header": f"{gate.HEADER_WITHIN_S:g} s",
    "from the header until the answer is made": f"{gate.ANSWER_WITHIN_S:g} s",
    "an answer that its peer does not take, also of the stream": f"{gate.STALLED_S_MAX:g} s",
    "between two requests": f"{gate.IDLE_S_MAX:g} s",
    "request line and headers; number of headers; body": f"{heads.HEAD_BYTES_MAX:,} bytes; {heads.FIELDS_MAX}; none",
    "bytes behind a request that is not answered yet": f"{heads.HEAD_BYTES_MAX:,}",
    "an answer that its peers do not take, of all connections together": f"{gate.UNSENT_BYTES_MAX >> 20} MiB",
    "readers of the stream": f"{gate.STREAMS_MAX}",
    "news in one message of the stream": f"{stream.MESSAGE_BYTES_MAX >> 10} KiB",
    "requests that wait for the control thread": f"{view.LOOKS_MAX}, and {view.COPY_WITHIN_S:g} s each",
    "rows of one answer": f"{paging.LIMIT_MAX}",
    "bytes of one page of a list; of the queues of a route": f"{answers.PAGE_BYTES_MAX >> 10} KiB; "
    f"{handlers.ROUTE_BYTES_MAX >> 10} KiB",
    "characters of a name; of a value": f"{answers.NAME_CHARACTERS_MAX}; {answers.VALUE_CHARACTERS_MAX:,}",
    "kept changes": f"{ring.EVENTS_MAX:,}",
    "series of one metric; characters of a label": f"{family.SERIES_MAX}; {family.LABEL_CHARACTERS_MAX}",
    "tokens in `rocketns.adminTokensFile`; characters of one; bytes of the file": f"{file.TOKENS_MAX}; "
    f"{file.TOKEN_CHARACTERS_MIN} to {file.TOKEN_CHARACTERS_MAX}; {file.FILE_BYTES_MAX >> 10} KiB",
    "log lines about requests without the right token": f"one in {access.LOG_INTERVAL_S:g} s",
    "TLS handshakes of a port": f"{100 / (1 + secured.HANDSHAKES_REST):g} % of a core",
    "names in `rocketns.adminHosts`, networks in `rocketns.adminDrainFrom`": f"{admin.NAMES_MAX}",
}


def rows() -> dict[str, list[str]]:
    """The rows of the table: first cell to the other cells."""
    section = (ROOT / "docs" / "limits.md").read_text("utf-8").partition("\n## The management port\n")[2]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {first: rest for first, *rest in cells[2:]}


def test_no_limit_is_missing_and_no_other_is_there() -> None:
    assert list(rows()) == list(ROWS)


@pytest.mark.parametrize("what", ROWS)
def test_a_limit_is_what_the_code_says(what: str) -> None:
    assert rows()[what][0] == ROWS[what]


def test_numbers_beside_the_limits_are_true() -> None:
    assert rows()["readers of the stream"][1].startswith(f"answered 503; a reader that is {stream.KEPT_MAX} messages")
    assert admin.NAMES_MAX == NETWORKS_MAX
    assert (view.SLICE_MS, view.COPY_AGE_S) == (1.0, 1.0)
