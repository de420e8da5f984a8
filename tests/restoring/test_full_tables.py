"""A journal with more routes than rocketns.routesMax: all are restored, and nothing is added to them."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from interop.harness import codes
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered
from tests.behaviour.views import route
from tests.support.inprocess import TimedServer


def test_routes_beyond_the_bound_are_kept(
    serve: Callable[..., TimedServer], names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    topics = [f"T{number}" for number in range(6)]
    first = serve()
    with first.connect() as client:
        registered(client, names, topics)
        first.stop()
    with caplog.at_level(logging.WARNING):
        second = serve(**{"rocketns.routesMax": 4, "rocketns.brokerRoutesMax": 4, "rocketns.brokersMax": 1})
    assert "the tables have 6 routes, more than rocketns.routesMax=4" in "".join(caplog.messages)
    with second.connect() as client:
        assert all(route(client, names.topic(topic)) for topic in topics)
        registered(client, names, topics)
        assert register(client, names, [*topics, "U"]).code == codes.SYSTEM_ERROR
        assert register(client, Names()).code == codes.SYSTEM_ERROR
        assert all(route(client, names.topic(topic)) for topic in topics)
