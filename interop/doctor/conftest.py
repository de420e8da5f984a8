"""A site for each test; left out with the reason where this machine has no network namespaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.doctor.diagnosis import Diagnosis
from interop.doctor.network import why_no_network
from interop.doctor.site import Site, opened
from rocketns.doctor.asking.brokers.requests import BrokerRequest
from rocketns.protocol.codes import RequestCode
from tests.support.needs import not_run

# Name of a fleet, and what the doctor said of it.
Told = Callable[[str, Diagnosis], None]


@pytest.fixture(scope="session")
def _networks() -> None:
    """Machines can be made here."""
    if reason := why_no_network():
        not_run(f"no network of machines is made: {reason}")


@pytest.fixture
def site(_networks: None, tmp_path: Path) -> Iterator[Site]:
    with opened(tmp_path) as one:
        yield one


@pytest.fixture(scope="module")
def shared_site(_networks: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests of a file."""
    with opened(tmp_path_factory.mktemp("site")) as one:
        yield one


@pytest.fixture
def told(record_property: Callable[[str, object], None]) -> Told:
    """Has the run print at its end what the doctor said first, and what it asked."""

    def tell(fleet: str, said: Diagnosis) -> None:
        found = [one for one in said.report["findings"] if one["state"] != "well"]
        first = f"{found[0]['check']}: {found[0]['sentence']}" if found else "nothing is wrong"
        asked = "; ".join(f"{to} {_counts(kinds)}" for to, kinds in said.requests().items())
        record_property("print what the doctor says first of each fleet", f"{fleet} | {first} | {asked}")

    return tell


def _counts(kinds: dict[str, int]) -> str:
    """The kinds by their codes."""
    codes = {code.name: code.value for code in (*RequestCode, *BrokerRequest)}
    return ", ".join(f"{codes.get(kind, kind)} x {count}" for kind, count in kinds.items())
