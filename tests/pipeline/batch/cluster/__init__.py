"""The audit on a cluster of Spark: a master and workers that may be lost."""
