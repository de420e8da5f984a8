"""What the status says of the name server itself: its journal and its certificate."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from interop.harness.wire import eventually
from rocketns.admin.api.assessing import DAY_MS, Own, Seen, assess
from rocketns.admin.api.copies import Brokers
from rocketns.fleet.state import FleetState
from tests.admin.api.conftest import get
from tests.admin.conftest import Managed

NO_BROKER = ("critical", "No broker is registered")
NOW_MS = 1_800_000_000_000


def reasons(own: Own) -> list[tuple[str, str]]:
    """The reasons that the status gives, without "no broker is registered"."""
    found = assess(own, Seen(Brokers((), 0, ())), (), FleetState(0), NOW_MS)
    return [(one.level, one.text) for one in found if (one.level, one.text) != NO_BROKER]


def read(managed: Managed) -> dict[str, Any]:
    """The status."""
    answer: dict[str, Any] = orjson.loads(get(managed, "status").body)
    return answer


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (14 * DAY_MS, []),
        (14 * DAY_MS - 1, [("attention", "The TLS certificate ends in 13 days")]),
        (1, [("attention", "The TLS certificate ends in 0 days")]),
        (0, [("critical", "The TLS certificate has ended")]),
        (-DAY_MS, [("critical", "The TLS certificate has ended")]),
    ],
)
def test_a_certificate_near_its_end_is_a_reason_to_look(ms: int, said: list[tuple[str, str]]) -> None:
    assert reasons(Own(certificate_ends_ms=NOW_MS + ms)) == said


def test_a_journal_that_fails_or_loses_records_is_a_reason_to_look() -> None:
    assert reasons(Own()) == []
    assert reasons(Own(journal_failing=True, journal_losing=1234)) == [
        ("attention", "The journal cannot be written: the log says why"),
        ("attention", "The journal's buffer is full: 1,234 records are lost"),
    ]


def test_the_journals_losses_and_the_certificates_end_are_numbers_of_the_status(
    start_managed: Callable[..., Managed], tmp_path: Path
) -> None:
    managed = start_managed({"journalPath": tmp_path / "journal"})
    status = read(managed)
    assert (status["journalLost"], status["journalFailing"], status["certificateEnds"]) == (0, False, None)
    journal = managed.controller.journal
    assert journal is not None
    managed.call(lambda: journal.buffer.lose("the disk is full"))
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with managed.connect() as client, trusting.wrap_socket(client.socket) as encrypted:
        assert encrypted.version() is not None
    eventually(lambda: read(managed)["certificateEnds"] is not None)
    status = read(managed)
    assert (status["journalLost"], [one["text"] for one in status["reasons"]][1:]) == (
        1, ["The journal's buffer is full: 1 records are lost"],
    )  # fmt: skip


def test_a_server_without_a_journal_shows_no_journal(managed: Managed) -> None:
    status = read(managed)
    assert (status["journalBytes"], status["journalLost"], status["journalFailing"]) == (None, None, None)
