"""A Spark Connect server on the loopback interface, from the jars that pyspark brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from interop.harness.process import Process

HOME = Path(pyspark.__file__).parent
MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
}
START_TIMEOUT_S = 120.0


@contextmanager
def connect_server(folder: Path, settings: Mapping[str, str]) -> Iterator[str]:
    """Its address, for --remote. It works in the folder, and ends with the block."""
    words = [f"--conf={name}={value}" for name, value in (SETTINGS | dict(settings)).items()]
    command = [str(HOME / "bin" / "spark-submit"), "--class", MAIN, "--master", "local[2]", *words, "spark-internal"]
    environment = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONNECT_MODE": "0"}
    server = Process(command, folder / "server.log", env=environment, cwd=folder)
    try:
        started = server.wait_for(r"Spark Connect server started at: \S*:(\d+)", START_TIMEOUT_S)
        yield f"sc://127.0.0.1:{started[1]}"
    finally:
        server.stop()
