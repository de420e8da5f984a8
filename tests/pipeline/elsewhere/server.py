"""A Spark Connect server on the loopback interface, in the Java process of the tests' session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from pyspark.sql import SparkSession

from rocketns.pipeline.storage.session import RUN_SETTINGS

ADDRESS = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0"}
# What somebody else's server may have. A client sets what a run needs.
FOREIGN = dict.fromkeys(RUN_SETTINGS, "true") | {"spark.sql.session.timeZone": "Asia/Shanghai"}


@contextmanager
def connect_server(spark: SparkSession) -> Iterator[str]:
    """Its address, for --remote. Each client has a session of its own, with other settings than those of a run. It ends
    with the block."""
    context, jvm = cast(Any, spark.sparkContext._jsc).sc(), cast(Any, spark.sparkContext._jvm)
    service = getattr(getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$"), "MODULE$")
    of_new_sessions = cast(Any, spark)._jsparkSession.sharedState().conf()
    with changed(context.conf(), ADDRESS), changed(of_new_sessions, FOREIGN):
        service.start(context)
        try:
            yield f"sc://127.0.0.1:{service.localPort()}"
        finally:
            service.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty())


@contextmanager
def changed(conf: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """A SparkConf that has these settings until the block ends."""
    before = conf.clone()
    for name, value in settings.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            conf.set(name, before.get(name)) if before.contains(name) else conf.remove(name)
