"""The Spark session of a run."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import REFLECTION_COMMAND_NAME  # type: ignore[import-untyped]
from pyspark.sql import SparkSession, functions


def test_a_second_column_does_not_ask_java_for_its_class_and_method_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    gateway: Any = spark.sparkContext._gateway
    client = gateway._gateway_client

    def columns() -> list[str]:
        asked.clear()
        functions.coalesce(functions.col("a"), functions.lit(1))
        return [command for command in asked if command.startswith(REFLECTION_COMMAND_NAME)]

    def send(command: str, *more: Any, **named: Any) -> Any:
        asked.append(command)
        return sending(command, *more, **named)

    columns()
    sending = client.send_command
    monkeypatch.setattr(client, "send_command", send)
    assert not columns()
    assert asked
