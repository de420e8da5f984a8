"""The message catalogues: complete, and nothing in them that the code does not say."""

from __future__ import annotations

import pytest

from tests.check.documents.catalogues import ARGPARSES_OWN, FOLDER, Domain, domains, faults


@pytest.mark.parametrize(("name", "domain"), domains().items(), ids=list(domains()))
def test_a_catalogue_has_each_message_of_its_domain_and_no_other(name: str, domain: Domain) -> None:
    assert not list(faults(name, domain)), "run python -m tests.check.documents.catalogues, and translate what is empty"


def test_each_catalogue_has_a_domain() -> None:
    assert {path.stem for path in FOLDER.glob("*.po")} == {*domains(), ARGPARSES_OWN}
