"""What the API says, as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from rocketns.admin import view
from tests.admin.conftest import Managed
from tests.admin.http import Answer

Ask = Callable[..., Any]


def get(managed: Managed, name: str, **parameters: object) -> Answer:
    return managed.http.ask(f"/api/v1/{name}?{urlencode(parameters)}")


@pytest.fixture(autouse=True)
def _fresh_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "COPY_AGE_S", 0.0)


@pytest.fixture
def ask(managed: Managed) -> Ask:
    """The value at a path of the API; the answer must be 200."""

    def run(name: str, **parameters: object) -> Any:
        answer = get(managed, name, **parameters)
        assert answer.status == 200, answer.text
        return orjson.loads(answer.body)

    return run
