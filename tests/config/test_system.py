"""Java's system properties, as its launcher would pass them on."""

from __future__ import annotations

import pytest

from rocketns.config.texts.system import system_properties


@pytest.mark.parametrize(
    ("environment", "options", "expected"),
    [
        ({}, {}, {}),
        ({"JAVA_OPT": "-server -Xmx4g -Da.b=1 -Dc=d=e -Dflag"}, {}, {"a.b": "1", "c": "d=e", "flag": ""}),
        ({"JAVA_OPT": "-Da=1", "JAVA_OPT_EXT": "-Da=2\n-Db=3"}, {}, {"a": "2", "b": "3"}),
        ({"JAVA_OPT": "-Da=1 -Da=2"}, {"a": "3"}, {"a": "3"}),
        ({"JAVA_OPT": '-Da="x -D=y -D'}, {}, {"a": '"x'}),
        ({"OTHER": "-Da=1"}, {"b": ""}, {"b": ""}),
    ],
)
def test_the_last_definition_wins(
    environment: dict[str, str], options: dict[str, str], expected: dict[str, str]
) -> None:
    assert system_properties(environment, options) == expected
