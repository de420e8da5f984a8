"""One Spark session for all tests of the pipeline, started when the first of them asks for it; one audit of the worked
example, and one of a journal in which everything happens."""

from __future__ import annotations

import gettext
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.languages import CATALOGUES
from rocketns.pipeline.cli.spark import SMALL_BATCHES
from rocketns.pipeline.saying import speaking
from rocketns.pipeline.storage.session import spark_session
from tests.pipeline.batch.runs import Whole, audited_example, whole_run
from tests.support.spark import FEWER_PROCESSES

HERE = Path(__file__).parent
# With one compiler Java reserves 48 MB for its code. A whole run and a few tests fill that, and then calls fail with
# "Out of space in CodeCache for adapters". Where heap and classes begin small, Java looks for garbage more often, and
# through the whole heap each time when there are more classes.
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xms1g -Xmn320m -XX:MetaspaceSize=256m "
    + FEWER_PROCESSES
)
# The first test waits for the Java process, and one that is stopped in a call to it takes the session of all with it.
TIMEOUT_S = 1500
# Folders and a file of tests on a few rows each.
FAST = ("jobs", "pipeline", "test_findings.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use Spark, before each file becomes a group: they share its session. `make test` has the run
    over the worked example, and the tests of ``FAST`` that do not say that they are slow."""
    for item in items:
        if "spark" not in getattr(item, "fixturenames", ()) or HERE not in item.path.parents:
            continue
        marks = [pytest.mark.needs("java"), pytest.mark.timeout(TIMEOUT_S), pytest.mark.xdist_group("spark")]
        if "example" not in item.fixturenames and not {item.path.name, item.path.parent.name} & set(FAST):
            marks.append(pytest.mark.slow)
        for mark in marks:
            item.add_marker(mark)


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts are Chinese, of the catalogues as each build makes them. Afterwards argparse speaks English again."""
    if not (CATALOGUES / "zh_CN" / "LC_MESSAGES" / "audit.mo").exists():
        subprocess.run([sys.executable, HERE.parents[1] / "packaging" / "catalogues.py", CATALOGUES], check=True)
    monkeypatch.setenv("LANGUAGE", "zh_CN")
    domain = gettext.textdomain()
    with speaking("zh"):
        yield
    gettext.textdomain(domain)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """local[2], 1 GiB, 2 shuffle partitions, UTC, no UI; what it writes goes to a temporary folder."""
    folder = tmp_path_factory.mktemp("spark")
    # Frames of a few rows are small batches: neither Spark nor Java should do much compiling.
    settings = SMALL_BATCHES | {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        # The rows of a test are one task. A shuffle has two partitions, the fewest that show effects of their number.
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    }
    session = spark_session("local[2]", memory="1g", settings=settings)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def example(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001 (it uses the session)
    return audited_example(tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="session")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return whole_run(spark, tmp_path_factory.mktemp("whole"))
