"""One engine and one set of images for all tests with containers; left out with the reason where there is no engine.

Both end with the last of these tests, so that idle brokers take no time from others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.docker import containers, images
from interop.docker.base import base
from interop.docker.containers import Container
from interop.docker.engine import Engine, NoEngine
from interop.docker.engine import engine as any_engine
from interop.docker.images import Images
from tests.support.needs import not_run

HERE = Path(__file__).parent
# The first test waits for the base image and all builds.
TEST_TIMEOUT_S = 900
# `make installed` names the folder of the wheels, and runs what compiles and downloads for minutes.
collect_ignore = [] if os.environ.get("ROCKETNS_DIST") else ["test_installing.py"]


@pytest.hookimpl(tryfirst=True)  # before each file becomes a group of its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.needs("docker"))
            item.add_marker(pytest.mark.xdist_group("docker"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S))


@pytest.fixture(scope="package")
def engine() -> Iterator[Engine]:
    try:
        with any_engine() as one:
            yield one
    except NoEngine as reason:
        not_run(f"no container is run: {reason}")


@pytest.fixture(scope="package")
def built(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Images:
    try:
        made_from = base(engine)
    except NoEngine as reason:
        not_run(f"no container is run: {reason}")
    return images.build(engine, made_from, tmp_path_factory.mktemp("docker"))


@pytest.fixture
def start(engine: Engine, built: Images) -> Iterator[Callable[..., Container]]:
    """Start a container of rocketns' image, or of ``image``, and wait until it serves; removed after the test."""
    started: list[Container] = []

    def run(*command: str, image: str = "", waits: bool = True, **more: Any) -> Container:
        started.append(containers.run(engine, image or built.rocketns, *command, **more))
        if waits:
            started[-1].wait_until_it_serves()
        return started[-1]

    yield run
    for one in started:
        one.remove()
