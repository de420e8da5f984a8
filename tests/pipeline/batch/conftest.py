"""One run over everything for the tests that compare with it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.batch.eventful import Whole, whole_run


@pytest.fixture(scope="package")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return whole_run(spark, tmp_path_factory.mktemp("whole"))
