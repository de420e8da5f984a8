"""The OpenAPI document holds what the API answers: schemathesis makes the requests from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from interop.harness import codes
from rocketns.admin.api.openapi import ROOT, document
from tests.admin.conftest import Broker, Managed
from tests.admin.http import Http

pytestmark = pytest.mark.slow
EXAMPLES = 12
STREAMS = (f"{ROOT}/stream",)  # its answer has no end


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with something in each of its lists."""
    home: Path = tmp_path_factory.mktemp("openapi")
    managed = Managed(home)
    try:
        with Broker(managed, "a") as one, Broker(managed, "b", 1, addr="10.0.0.2:1", cluster="C2") as two:
            one.register(["T", "U"])
            two.register(["T"], heartbeatTimeoutMillis=1000)
            one.client.request(codes.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v"})
            yield f"http://127.0.0.1:{managed.http.port}"
    finally:
        managed.stop()


GOOD, BAD = "positive", "negative"


def cases() -> Iterator[tuple[str, str]]:
    """Each path with requests as described. A path with parameters also gets requests that break the description."""
    for path, item in document()["paths"].items():
        if path not in STREAMS:
            yield path, GOOD
            if item["get"]["parameters"]:
                yield path, BAD


@pytest.mark.parametrize(("path", "mode"), list(cases()))
def test_each_answer_is_as_the_document_says(address: str, path: str, mode: str) -> None:
    import schemathesis

    operation = schemathesis.openapi.from_dict(document())[path]["GET"]

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
              phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def answers(case: Any) -> None:
        case.call_and_validate(base_url=address)

    answers()


def test_the_document_is_served(address: str) -> None:
    port = int(address.rpartition(":")[2])
    assert orjson.loads(Http(port).ask(f"{ROOT}/openapi.json").body) == document()
