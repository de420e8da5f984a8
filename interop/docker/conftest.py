"""One engine and one set of images for all tests with containers; left out with the reason where there is no engine.

Both end with the last of these tests, so that idle brokers take no time from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interop.docker import containers, images
from interop.docker.base import base
from interop.docker.containers import Container
from interop.docker.deployments import FILES, Project
from interop.docker.engine import Engine, NoEngine
from interop.docker.engine import engine as any_engine
from interop.docker.images import Images
from tests.support.certificates import Files, authority
from tests.support.needs import not_run

HERE = Path(__file__).parent
# The first test waits for the base image and all builds.
TEST_TIMEOUT_S = 900
# Where containers have the certificates.
INSIDE = "/etc/tls"


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


@pytest.fixture(scope="package")
def projects(engine: Engine, built: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Project]]:
    """All deployments, each without waiting for its brokers."""
    environment = {
        "ROCKETNS_IMAGE": built.rocketns,
        "ROCKETMQ_IMAGE": built.rocketmq,
        **tls(tmp_path_factory.mktemp("certificates")),
    }
    every = {file.stem: Project(engine, file.stem, environment) for file in sorted(FILES.glob("*.yaml"))}
    with ThreadPoolExecutor() as pool:
        try:
            list(pool.map(Project.up, every.values()))
            yield every
        finally:
            list(pool.map(Project.down, every.values()))


@pytest.fixture(autouse=True)
def _brokers_boot_meanwhile(request: pytest.FixtureRequest) -> None:
    """Brokers take long to boot, so they do it while other tests run."""
    if any("projects" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("projects")


def tls(folder: Path) -> dict[str, str]:
    """Certificates in a folder, and Java's options: OWN_CERTIFICATE for servers, PEER for clients as well."""
    folder.chmod(0o755)
    signer = authority("docker authority")
    files = Files.write(folder, signer.issue("localhost", rsa_bits=2048))
    (folder / "trusted.pem").write_bytes(signer.certificate_pem())
    for file in folder.iterdir():
        file.chmod(0o644)
    own = f"-Dtls.test.mode.enable=false -Dtls.server.certPath={INSIDE}/{files.certificate.name}"
    own = f"{own} -Dtls.server.keyPath={INSIDE}/{files.key.name}"
    peer = f"-Dtls.enable=true -Dtls.client.authServer=true -Dtls.client.trustCertPath={INSIDE}/trusted.pem {own}"
    return {"CERTIFICATES": str(folder), "OWN_CERTIFICATE": own, "PEER": peer}
