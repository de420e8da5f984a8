"""A registration on its way from socket to slot: how often an inner layer calls an outer one.

Each layer may call the layers below it. A call from below, through a function that was handed down, is a call back:
a reader of the code must then leave the current layer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest

import rocketns
from rocketns.processor import broker
from rocketns.server.requests.peek import request_code
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.check.imports.layers import ORDER
from tests.support.inprocess import TimedServer

PACKAGE = Path(rocketns.__file__).parent
PLACES = {layer: place for place, layers in enumerate(ORDER) for layer in layers}
CALLS_BACK_MAX = 3


class Trace:
    """The layers that control enters, and the functions that an inner layer calls in an outer one.

    Compiled functions are not seen. What a function of no layer calls counts as called by the layer that called it.
    """

    def __init__(self) -> None:
        self.entered: set[str] = set()
        self.calls_back: list[str] = []
        self._layers: list[str | None] = []

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._enter(frame.f_code)
        elif event == "return" and self._layers:
            self._layers.pop()

    def _enter(self, code: CodeType) -> None:
        caller = next(filter(None, reversed(self._layers)), None)
        layer = _layer_of(Path(code.co_filename))
        self._layers.append(layer)
        if layer:
            self.entered.add(layer)
        if layer and caller and PLACES[layer] > PLACES[caller]:
            self.calls_back.append(f"{caller} -> {layer}: {code.co_qualname}")


def _layer_of(file: Path) -> str | None:
    if not file.is_relative_to(PACKAGE):
        return None
    layer = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return layer if layer in PLACES else None


@pytest.fixture(params=[0, 1], ids=["asyncio", "reactors"])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[TimedServer]:
    started = TimedServer(tmp_path, {"rocketns.reactors": request.param})
    yield started
    started.stop()


def traced(server: TimedServer) -> Trace:
    """Control's work for the first registration of a broker."""
    trace = Trace()
    with server.connect() as client:
        server.call(lambda: sys.setprofile(trace))
        try:
            registered(client, Names())
        finally:
            server.call(lambda: sys.setprofile(None))
    return trace


def test_a_registration_is_called_back_into_an_outer_layer_three_times_at_most(server: TimedServer) -> None:
    trace = traced(server)
    assert {"server", "processor", "protocol", "routeinfo"} <= trace.entered
    assert len(trace.calls_back) <= CALLS_BACK_MAX, trace.calls_back


def test_planted_calls_back_are_counted(server: TimedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = len(traced(server).calls_back)
    finds_repeated = broker.repeated_body

    def calls_back(*arguments: object) -> object:
        for _ in range(CALLS_BACK_MAX):
            request_code(bytes(21))
        return finds_repeated(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(broker, "repeated_body", calls_back)
    assert len(traced(server).calls_back) == usual + CALLS_BACK_MAX
