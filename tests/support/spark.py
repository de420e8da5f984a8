"""With which settings a Spark of the tests takes less CPU time; the results are the same."""

from __future__ import annotations

# Hadoop runs chmod for each file and folder. Java would start a program that starts it.
FEWER_PROCESSES = "-Djdk.lang.Process.launchMechanism=VFORK"
# Planning takes longer than the work on a few rows. So filters are not inferred from others, plans are not checked
# after each rule, and not written as texts for a page that nobody opens.
LESS_PLANNING = {
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "100",
}
