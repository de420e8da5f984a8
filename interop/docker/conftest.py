"""One engine and one set of images for all tests with containers; left out with the reason where there is no engine."""

from __future__ import annotations

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

HERE = Path(__file__).parent
# The first test waits for the base image and all builds.
TEST_TIMEOUT_S = 900
LEFT_OUT = "docker left out, no container is run: "


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.docker)
            item.add_marker(pytest.mark.timeout(TEST_TIMEOUT_S), append=False)


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    try:
        with any_engine() as one:
            yield one
    except NoEngine as reason:
        pytest.skip(f"{LEFT_OUT}{reason}")


@pytest.fixture(scope="session")
def built(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Images:
    try:
        made_from = base(engine)
    except NoEngine as reason:
        pytest.skip(f"{LEFT_OUT}{reason}")
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
