"""What tests and interop share, so that both run in one call: options, and which servers are tested."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest

# So that a failing assertion of a helper shows its values; it has to be said before they are imported.
pytest.register_assert_rewrite("tests.behaviour", "tests.hostile", "tests.timed", "tests.support", "interop")

import tests.support.profile  # noqa: E402, F401
from interop.harness.servers import MODES, JavaNameServer, NameServer  # noqa: E402
from tests.support.running.rest import Rest  # noqa: E402
from tests.support.running.summary import Summary  # noqa: E402
from tests.support.running.until import until_of  # noqa: E402

INTEROP = Path(__file__).parent / "interop"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--against",
        choices=("rocketns", "java"),
        default="rocketns",
        help="which name server the tests talk to (java: 5.5.0 from Maven)",
    )
    parser.addoption(
        "--every-mode",
        action="store_true",
        help="run the scenarios with real brokers with reactors and without; all other tests always do",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Summary())
    config.pluginmanager.register(Rest())
    config.pluginmanager.register(until_of(os.environ))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that use ``server_class`` run against each mode of rocketns, or against Java."""
    if "server_class" in metafunc.fixturenames:
        kinds = _kinds(metafunc)
        ids = [kind.mode or kind.kind for kind in kinds]
        metafunc.parametrize("server_class", kinds, ids=ids, scope="session", indirect=True)


def _kinds(metafunc: pytest.Metafunc) -> tuple[type[NameServer], ...]:
    """Most scenarios with real brokers run only in the default mode, unless every mode is requested."""
    if metafunc.config.getoption("--against") == "java":
        return (JavaNameServer,)
    has = metafunc.definition.get_closest_marker
    every = metafunc.config.getoption("--every-mode") or has("every_mode")
    one = has("one_mode") or metafunc.definition.path.is_relative_to(INTEROP)
    return MODES[:1] if one and not every else MODES


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is imported and collected stays to the end: the garbage collector looks at none of it, now or later."""
    gc.disable()
    _import_first(session)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries in C report what is left of them at the end


def _import_first(session: pytest.Session) -> None:
    if of_worker := getattr(session.config, "workerinput", None):
        from tests.support.running.importing import import_before_collecting

        number = int(of_worker["workerid"].removeprefix("gw"))
        import_before_collecting(session.config, number, of_worker["workercount"])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several workers
        from tests.support.running.spreading import in_order

        items[:] = in_order(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    from tests.support.running.spreading import scheduler

    config.option.loadscopereorder = False
    return scheduler()(config, log)


@pytest.fixture(scope="session")
def server_class(request: pytest.FixtureRequest) -> type[NameServer]:
    kind: type[NameServer] = request.param
    return kind


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, dict[str, object], object]:
    """Make a worker's report encodable as UTF-8: logs and assertions show hostile input."""
    from tests.support.running.spreading import sendable

    return sendable((yield))
