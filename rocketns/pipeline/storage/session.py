"""The Spark session of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember  # type: ignore[import-untyped]
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import rocketns

# Spark keeps 100 by default. A run generates some 1,500.
CACHED_CLASSES = 2000
# For every run: times are UTC; the day and the name server in a path are strings, even if they look like numbers.
# Code that Spark generates twice is compiled once if there is no number in its name, and if CACHED_CLASSES holds it.
# Dynamic pruning of partitions fails where stored events and those of open files are one frame: Spark applies the
# filter to both, but computes it for the partitioned one only. It would save little, since most jobs read every name
# server. With one writer for each folder that a task writes to, Spark need not sort. Files are small, and opening one
# costs about as much as reading 64 KiB. Lists of up to 50,000 groups are collected in memory: by default a task sorts
# all its rows from 128 groups on. Plans are neither checked after each rule nor written as long texts for a page that
# nobody opens.
RUN_SETTINGS = {
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    "spark.sql.maxPlanStringLength": "100",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "50000",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.codegen.useIdInClassName": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
# A run is many short queries, each with its own generated code. With Java's default thresholds the optimising compiler
# takes more CPU than the queries, for code that is soon discarded. These thresholds are 20 times as high.
# With few cores and much garbage this collector takes a tenth less CPU than Java's default.
JAVA_OPTIONS = (
    "-XX:+UseParallelGC",
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=12000",
    "-XX:Tier4CompileThreshold=300000",
    "-XX:Tier4BackEdgeThreshold=800000",
)
# For a short run: without the optimising compiler, which takes a third of its CPU and saves less. The quick
# compiler alone has 48 MB for its code by default, which a whole run fills. Java looks for garbage in the whole heap
# whenever it has loaded half as many classes more, up to this size. Hadoop runs chmod for each file and folder, for
# which Java would start a program that starts it.
SHORT_JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:MetaspaceSize=256m",
    "-Djdk.lang.Process.launchMechanism=VFORK",
)
# Rows that are part of a plan become one task, and not one for each core.
SHORT_SETTINGS = {"spark.sql.leafNodeDefaultParallelism": "1"}
# For the start; without effect on a session that already exists. For its errors pyspark would note which line made each
# column: it walks the stack and asks Java several times, a third of what a run takes in Python. A traceback of Python
# names the line of the job, too.
START_SETTINGS = {
    "spark.sql.codegen.cache.maxEntries": str(CACHED_CLASSES),
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# As pyspark names the classes that make its columns.
ASKED_FOR_OFTEN = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")


def spark_session(
    master: str | None, *, memory: str = "2g", settings: Mapping[str, str] | None = None, short: bool = False
) -> SparkSession:
    """The session with RUN_SETTINGS; ``master`` None takes spark-submit's. ``memory`` is the driver's heap. ``short``
    chooses settings for a run of a minute; Java's among them count only where this call starts the Java process."""
    builder = SparkSession.builder.appName("rocketns audit").config("spark.driver.memory", memory)
    # Tasks bring our functions with them, so that other machines need no rocketns.
    cloudpickle.register_pickle_by_value(rocketns)  # type: ignore[no-untyped-call]
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # While the heap grows, Java looks for garbage more often, and each time in all of it.
    words = " ".join((*(SHORT_JAVA_OPTIONS if short else JAVA_OPTIONS), f"-Xms{memory}"))
    usual = START_SETTINGS | RUN_SETTINGS | (SHORT_SETTINGS if short else {})
    chosen = usual | {"spark.driver.extraJavaOptions": words} | dict(settings or {})
    for key, value in chosen.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    _cache_classes(session)
    return session


class CachedClass(JavaClass):  # type: ignore[misc]
    """A class of Java whose methods are asked for once."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            setattr(self, name, found)
        return found


def _cache_classes(session: SparkSession) -> None:
    """pyspark asks Java for a class and its method again for each column, and Java searches all of Spark's jars for the
    short names. Attributes of the view are found without asking."""
    view: Any = session.sparkContext._jvm
    for name in ASKED_FOR_OFTEN:
        found = getattr(view, name)
        if isinstance(found, JavaClass):  # a package where this version of Spark has no such class
            setattr(view, name, CachedClass(found._fqn, found._gateway_client))


def runs_here(session: SparkSession) -> bool:
    """Whether its tasks run in the Java process of this one, and not on other machines."""
    return str(session.sparkContext.master).startswith("local")
