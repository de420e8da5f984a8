"""With which settings a Spark of the tests takes less CPU time; the results are the same."""

from __future__ import annotations

# Hadoop runs chmod for each file and folder. Java would start a program that starts it.
FEWER_PROCESSES = "-Djdk.lang.Process.launchMechanism=VFORK"
