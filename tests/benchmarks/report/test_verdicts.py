"""An aim is reached only where the spread of the rounds reaches it, too."""

from __future__ import annotations

import pytest

from benchmarks.parts import default, registering, storm
from benchmarks.parts.catalogue import PARTS
from benchmarks.plan import FULL, QUICK
from benchmarks.record import Record, Row, quantile
from benchmarks.report.aims import AIMS, Aim, aims_table
from benchmarks.report.figures import quartiles
from benchmarks.report.markdown import ratio
from benchmarks.report.store import Results
from benchmarks.servers.kinds import DEFAULT, JAVA, JAVA_G1, JAVA_SCRIPT, JAVAS

AT_LEAST = Aim("", "part", "lookup", "CPU µs", 2.0, JAVAS, (DEFAULT,), at_least=True)
AT_MOST = Aim("", "part", "lookup", "MB", 40, (DEFAULT,))


@pytest.mark.parametrize(
    ("aim", "values", "verdict"),
    [
        (AT_LEAST, [2.0, 2.1, 2.2, 2.3, 9.0], "yes"),
        (AT_LEAST, [1.0, 2.1, 2.2, 2.3, 9.0], "yes"),
        (AT_LEAST, [1.0, 1.9, 2.2, 2.3, 9.0], "not shown"),
        (AT_LEAST, [1.0, 1.2, 1.9, 2.3, 9.0], "no"),
        (AT_LEAST, [1.9, 2.2, 2.2], "not shown"),
        (AT_LEAST, [], "not measured"),
        (AT_MOST, [39.0], "yes"),
        (AT_MOST, [41.0], "no"),
        (AT_MOST, [1.0, 2.0, 39.0, 40.0, 90.0], "yes"),
        (AT_MOST, [1.0, 2.0, 39.0, 41.0, 90.0], "not shown"),
    ],
)
def test_the_median_and_the_worse_quartile_must_both_reach_an_aim(aim: Aim, values: list[float], verdict: str) -> None:
    assert aim.verdict(values) == verdict


def test_quartiles_of_few_rounds_are_the_least_and_the_greatest() -> None:
    assert quartiles([1.0, 2.0, 3.0]) == (1.0, 3.0)
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 4.0)
    assert quartiles([7.0]) == (7.0, 7.0)


def test_a_late_quantile_of_few_values_is_the_greatest() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([float(n) for n in range(1, 201)], 0.99) == 198.0


def test_an_aim_is_held_to_the_java_that_does_best() -> None:
    values: dict[str, list[float | None]] = {DEFAULT: [10.0], JAVA: [30.0], JAVA_G1: [19.0], JAVA_SCRIPT: [40.0]}
    record = Record("part", "Part", [Row("lookup", "CPU µs", values)])
    assert AT_LEAST.values(record) == [1.9]
    assert AT_LEAST.verdict(AT_LEAST.values(record)) == "no"
    assert ratio(record.rows[0], "better than Java") == "1.90"


def test_the_best_java_of_throughput_is_the_fastest() -> None:
    row = Row("lookup", "requests/s", {DEFAULT: [100.0], JAVA: [50.0], JAVA_G1: [80.0]})
    assert ratio(row, "better than Java") == "1.25"


def test_the_table_says_where_only_the_median_reaches_an_aim() -> None:
    aim = next(aim for aim in AIMS if aim.what == registering.name("unchanged"))
    row = Row(aim.what, aim.unit, {DEFAULT: [1.0] * 5, JAVA: [3.0, 14.0, 16.0, 17.0, 20.0]})
    results = Results("full", records={"registering": Record("registering", "", [row])})
    line = next(line for line in aims_table(results) if aim.text in line)
    assert "16.0 (3.00-20.0) | 14.0 |" in line
    assert line.endswith("| not shown |")


def test_the_aims_of_the_default_are_for_every_load_and_loop() -> None:
    aims = {(aim.what, aim.unit): aim.limit for aim in AIMS if aim.part == "default"}
    for load in default.CELLS:
        assert aims[load.what, "CPU µs"] == aims[load.what, "p99 µs"] == 1.03
    assert [load for load in default.CELLS if (load.what, "requests/s") in aims] == [
        load for load in default.CELLS if load.share == 1
    ]


def test_the_storm_has_an_aim_at_javas_rate_on_any_core() -> None:
    aims = [aim for aim in AIMS if aim.what == storm.name(storm.AT_JAVAS_RATE, storm.ANYWHERE)]
    assert [aim.unit for aim in aims] == [storm.RATIO, storm.RATIO_SENT]
    assert all((aim.limit, aim.at_least) == (2, False) for aim in aims)


def test_every_part_has_a_limit_and_all_together_are_about_25_minutes() -> None:
    assert list(FULL.part_s) == [part.name for part in PARTS]
    assert FULL.total_s <= 25 * 60
    assert QUICK.total_s <= 5 * 60
